/**
 * What starting this program does to a store: the migrations, their time, and whether there is a way back.
 */
import { type AppliedMigration, type Migration, newestOf } from './migrations.ts'

export type UpgradePlan = {
  schema_now: number
  schema_wanted: number
  /** File names of the migrations that the next start applies, in order. */
  migrations: string[]
  size_bytes: number
  sessions: number
  /** Ids of events that were assigned; pruned deltas count. */
  events: number
  /** Tables that the migrations read or write completely, with their rows. */
  scanned_rows: Record<string, number>
  /** Seconds, from the row counts. */
  estimated_s: number
  /**
   * Whether the program that uses the store now can run on it after the upgrade. If not, going back to it
   * needs a copy from before.
   */
  rollback_without_restore: boolean
}

/** What a store reports about itself. */
export type Inspected = {
  applied: readonly AppliedMigration[]
  /** Whether the program that wrote the store can run on a newer schema at all. */
  recordsOldest: boolean
  sizeBytes: number
  sessions: number
  events: number
}

type Scan = { table: string; kind: 'index' | 'rewrite' }

/**
 * Microseconds a row. SQLite took 0.7 and 1.7 of processor time for rows of 500 bytes; disks and Postgres
 * take several times that.
 */
const ROW_US: Readonly<Record<Scan['kind'], number>> = { index: 5, rewrite: 25 }
/** Seconds a migration takes on an empty table. */
const MIGRATION_S = 0.05

/** Statements whose time grows with the rows of a table. New columns and tables do not. */
const SCANS: readonly [pattern: RegExp, kind: Scan['kind']][] = [
  [/\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?\w+\s+ON\s+(\w+)/gi, 'index'],
  [/\bUPDATE\s+(\w+)\s+SET\b/gi, 'rewrite'],
  [/\bDELETE\s+FROM\s+(\w+)/gi, 'rewrite'],
  [/\bINSERT\s+INTO\s+\w+[^;]*?\bSELECT\b[^;]*?\bFROM\s+(\w+)/gi, 'rewrite'],
  [/\bALTER\s+TABLE\s+(\w+)\s+(?:ALTER|DROP|ADD\s+CONSTRAINT)\b/gi, 'rewrite'],
]

/** Each scan of a table that the migrations do not create themselves. */
export function scansOf(migrations: readonly Migration[]): Scan[] {
  const sql = migrations.map(migration => withoutComments(migration.sql)).join('\n')
  const created = new Set(
    [...sql.matchAll(/\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/gi)].map(([, name]) => name),
  )
  return SCANS.flatMap(([pattern, kind]) =>
    [...sql.matchAll(pattern)].flatMap(([, table = '']) => (created.has(table) ? [] : [{ table, kind }])),
  )
}

export const withoutComments = (sql: string): string => sql.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, '')

export const pendingOf = (
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): readonly Migration[] => migrations.filter(({ version }) => version > newestOf(applied))

/** `rows` has the number of rows of each table that `scansOf` names. */
export function planUpgrade(
  { applied, recordsOldest, sizeBytes, sessions, events }: Inspected,
  migrations: readonly Migration[],
  rows: Readonly<Record<string, number>>,
): UpgradePlan {
  const now = newestOf(applied)
  const pending = pendingOf(applied, migrations)
  const microseconds = scansOf(pending)
    .map(({ table, kind }) => (rows[table] ?? 0) * ROW_US[kind])
    .reduce((sum, each) => sum + each, 0)
  return {
    schema_now: now,
    schema_wanted: newestOf(migrations),
    migrations: pending.map(({ name }) => name),
    size_bytes: sizeBytes,
    sessions,
    events,
    scanned_rows: { ...rows },
    estimated_s: Math.round((pending.length * MIGRATION_S + microseconds / 1e6) * 100) / 100,
    rollback_without_restore:
      pending.length === 0 || (recordsOldest && pending.every(({ oldestProgram }) => oldestProgram <= now)),
  }
}

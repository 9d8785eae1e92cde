/**
 * Migrates a schema to the current version: numbered SQL files, each applied once, in its own transaction, by
 * one process at a time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { asError } from '@cairn/protocol'
import { assetBeside } from '@cairn/tooling/beside'
import {
  type AppliedMigration,
  type Migration,
  newestOf,
  readMigrationsIn,
  refuseNewer,
  refuseOlder,
  refuseOlderNumbering,
} from '../engine/migrations.ts'
import { NoStore } from '../engine/no-store.ts'

/** Class of the advisory lock, combined with a hash of the schema's name. */
const LOCK_CLASS = 0x636169

/** Shorter than the default deadlock_timeout of a second, after which Postgres would end a transaction. */
const LOCK_MS = 300
/** SQLSTATE of a lock that was not available in time, and of a deadlock. */
const BLOCKED = new Set(['55P03', '40P01'])
/** About two minutes. */
const MAX_ATTEMPTS = 200
const BETWEEN_ATTEMPTS_MS = 300

type Wait = (ms: number) => Promise<unknown>

/** The required subset of pg's Client. */
export type Connection = {
  query(sql: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

export const readMigrations = (): Migration[] =>
  readMigrationsIn(assetBeside(import.meta, './migrations/', 'migrations-postgres/'))

/** Null if the schema does not exist, empty if it has no store. */
async function readSchema(
  client: Connection,
  schema: string,
): Promise<{ applied: AppliedMigration[]; recordsOldest: boolean } | null> {
  const { rows } = await client.query(
    `SELECT to_regnamespace($1) IS NOT NULL AS there, to_regclass($2) IS NOT NULL AS migrated,
      EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($2) AND attname = 'oldest_program'
        AND NOT attisdropped) AS records_oldest`,
    [schema, `${schema}.schema_migrations`],
  )
  if (rows[0]?.['there'] !== true) return null
  const recordsOldest = rows[0]['records_oldest'] === true
  if (rows[0]['migrated'] !== true) return { applied: [], recordsOldest }
  const oldest = recordsOldest ? 'oldest_program' : 'NULL'
  const found = await client.query(
    `SELECT version, ${oldest} AS oldest_program FROM schema_migrations ORDER BY version`,
  )
  const applied = found.rows.map(row => ({
    version: Number(row['version']),
    oldest_program: row['oldest_program'] === null ? null : Number(row['oldest_program']),
  }))
  return { applied, recordsOldest }
}

/** Throws UnsupportedSchema, naming both versions, if this code may not use the schema. */
async function refuseOther(
  client: Connection,
  schema: string,
  applied: readonly AppliedMigration[],
  known: number,
): Promise<void> {
  if (applied.length > 0 && (await isOlderNumbering(client, schema)))
    refuseOlderNumbering(newestOf(applied), known)
  refuseNewer(applied, known, 'dump')
}

/** A store of the older numbering has sessions and no directory. */
async function isOlderNumbering(client: Connection, schema: string): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NULL AS older`,
    [`${schema}.sessions`, `${schema}.directory`],
  )
  return rows[0]?.['older'] === true
}

/**
 * The applied migrations of a store that this code may read, after an upgrade if it is older. Throws
 * UnsupportedSchema, and NoStore if the schema has none.
 */
export async function inspectSchema(
  client: Connection,
  schema: string,
  known: number,
): Promise<{ applied: AppliedMigration[]; recordsOldest: boolean }> {
  const found = await readSchema(client, schema)
  if (found === null || found.applied.length === 0)
    throw new NoStore(
      `[migrate] no store in the schema ${schema}: start the server once, or set the right schema`,
    )
  await refuseOther(client, schema, found.applied, known)
  return found
}

/** With `mayWrite` false it only checks, and throws unless this code can read the schema as it is. */
export async function migrate(
  client: Connection,
  schema: string,
  {
    mayWrite = true,
    migrations = readMigrations(),
    wait = delay,
  }: { mayWrite?: boolean; migrations?: readonly Migration[]; wait?: Wait } = {},
): Promise<void> {
  const known = newestOf(migrations)
  if (!mayWrite) {
    const found = newestOf((await inspectSchema(client, schema, known)).applied)
    if (found < known) refuseOlder(`the schema ${schema}`, found, known)
    return
  }
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_CLASS, schema])
  try {
    const found = await readSchema(client, schema)
    // Only if it is missing: a role that was given a schema need not be allowed to create one.
    if (found === null) await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    const applied = found?.applied ?? []
    await refuseOther(client, schema, applied, known)
    await client.query(`
      CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL,
        applied_at TIMESTAMPTZ NOT NULL DEFAULT now(), oldest_program BIGINT)`)
    // Not a migration of its own, so that programs without the column may still run on the store.
    if (found?.recordsOldest === false)
      await client.query('ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS oldest_program BIGINT')
    for (const migration of migrations.filter(each => each.version > newestOf(applied)))
      await apply(client, migration, wait)
  } finally {
    // A lost connection has released the lock by itself.
    await client
      .query('SELECT pg_advisory_unlock($1, hashtext($2))', [LOCK_CLASS, schema])
      .catch(() => undefined)
  }
}

/**
 * Applies a migration while other processes work on the tables. It waits briefly for a lock and then starts
 * again, so that neither it nor the work that waits behind it stops the others, and no deadlock is found.
 */
async function apply(client: Connection, migration: Migration, wait: Wait): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const failures = await tryToApply(client, migration)
    const [first] = failures
    if (first === undefined) return
    const isBlocked = BLOCKED.has(String((asError(first) as NodeJS.ErrnoException).code))
    if (!isBlocked || attempt === MAX_ATTEMPTS) {
      const why = isBlocked ? ', because other sessions, such as pg_dump, hold locks on its tables' : ''
      throw new Error(`[migrate] ${migration.name} failed; nothing of it was kept${why}`, {
        cause: failures.length === 1 ? first : new AggregateError(failures, asError(first).message),
      })
    }
    await wait(BETWEEN_ATTEMPTS_MS * (0.5 + Math.random()))
  }
}

/** The errors of an attempt, after which nothing of it is kept; none if it is committed. */
async function tryToApply(client: Connection, migration: Migration): Promise<unknown[]> {
  const failures: unknown[] = []
  await client.query('BEGIN')
  await commit(client, migration).catch(async (error: unknown) => {
    failures.push(error)
    // On a lost connection there is nothing to roll back; the first error is reported, with the second
    // attached.
    await client.query('ROLLBACK').catch((second: unknown) => failures.push(second))
  })
  return failures
}

async function commit(client: Connection, { version, name, sql, oldestProgram }: Migration): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`)
  await client.query(sql)
  await client.query('INSERT INTO schema_migrations (version, name, oldest_program) VALUES ($1, $2, $3)', [
    version,
    name,
    oldestProgram,
  ])
  await client.query('COMMIT')
}

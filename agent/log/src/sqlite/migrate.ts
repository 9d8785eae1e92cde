/**
 * Migrates a database to the current schema: numbered SQL files, each applied once, in its own transaction.
 */
import { assetBeside } from '@cairn/tooling/beside'
import {
  type AppliedMigration,
  type Migration,
  newestOf,
  readMigrationsIn,
  refuseNewer,
  refuseOlderNumbering,
} from '../engine/migrations.ts'
import type { Db } from './adapter.ts'

export const readMigrations = (): Migration[] => readMigrationsIn(assetBeside(import.meta, './migrations/'))

/** The applied migrations, in order; none for an empty database. */
export function appliedMigrations(db: Db): AppliedMigration[] {
  const columns = db.prepare(`SELECT name FROM pragma_table_info('schema_migrations')`).all()
  if (columns.length === 0) return []
  const oldest = columns.some(({ name }) => name === 'oldest_program') ? 'oldest_program' : 'NULL'
  return db
    .prepare(`SELECT version, ${oldest} AS oldest_program FROM schema_migrations ORDER BY version`)
    .all()
    .map(row => ({
      version: Number(row['version']),
      oldest_program: row['oldest_program'] === null ? null : Number(row['oldest_program']),
    }))
}

/** The version of the last applied migration; 0 for an empty database. */
export const schemaVersion = (db: Db): number => newestOf(appliedMigrations(db))

/** Whether the store records which older programs may run on it. Programs without that rule do not. */
export const recordsOldestProgram = (db: Db): boolean =>
  db.prepare(`SELECT 1 FROM pragma_table_info('schema_migrations') WHERE name = 'oldest_program'`).get() !==
  undefined

/** Throws UnsupportedSchema, naming both versions, if this code may not use the database. */
export function refuseOther(db: Db, migrations: readonly Migration[]): void {
  const applied = appliedMigrations(db)
  const known = newestOf(migrations)
  if (applied.length > 0 && isOlderNumbering(db)) refuseOlderNumbering(newestOf(applied), known)
  refuseNewer(applied, known, 'backup')
}

/** A store of the older numbering has sessions and no directory. */
function isOlderNumbering(db: Db): boolean {
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('sessions', 'directory')`).all()
  return tables.length === 1 && tables[0]?.['name'] === 'sessions'
}

export function migrate(db: Db, migrations: readonly Migration[], now: number): void {
  refuseOther(db, migrations)
  db.exec(
    'CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, ' +
      'applied_at INTEGER NOT NULL, oldest_program INTEGER) STRICT',
  )
  // Not a migration of its own, so that programs without the column may still run on the store.
  if (!recordsOldestProgram(db)) db.exec('ALTER TABLE schema_migrations ADD COLUMN oldest_program INTEGER')
  const found = schemaVersion(db)
  for (const { version, name, sql, oldestProgram } of migrations.filter(each => each.version > found)) {
    db.exec('BEGIN IMMEDIATE')
    try {
      db.exec(sql)
      db.prepare(
        'INSERT INTO schema_migrations (version, name, applied_at, oldest_program) VALUES (?, ?, ?, ?)',
      ).run(version, name, now, oldestProgram)
      db.exec('COMMIT')
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw new Error(`[migrate] ${name} failed; nothing of it was kept`, { cause: error })
    }
  }
}

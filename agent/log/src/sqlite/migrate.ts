/**
 * Migrates a database to the current schema: numbered SQL files, each applied once, in its own transaction.
 */
import { assetBeside } from '@cairn/tooling/beside'
import { type Migration, newerSchema, olderNumbering, readMigrationsIn } from '../engine/migrations.ts'
import type { Db } from './adapter.ts'

export const readMigrations = (): Migration[] => readMigrationsIn(assetBeside(import.meta, './migrations/'))

/** The version of the last applied migration; 0 for an empty database. */
export function schemaVersion(db: Db): number {
  const table = db
    .prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`)
    .get()
  if (table === undefined) return 0
  return Number(
    db.prepare('SELECT coalesce(max(version), 0) AS version FROM schema_migrations').get()?.['version'],
  )
}

/** Throws, naming both versions, if newer code, or code with the older numbering, has written the database. */
export function refuseOther(db: Db, migrations: readonly Migration[]): void {
  const found = schemaVersion(db)
  const known = migrations.at(-1)?.version ?? 0
  if (found > 0 && isOlderNumbering(db)) throw new Error(olderNumbering(found, known))
  if (found > known) throw new Error(newerSchema(found, known, 'backup'))
}

/** A store of the older numbering has sessions and no directory. */
function isOlderNumbering(db: Db): boolean {
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('sessions', 'directory')`).all()
  return tables.length === 1 && tables[0]?.['name'] === 'sessions'
}

export function migrate(db: Db, migrations: readonly Migration[], now: number): void {
  refuseOther(db, migrations)
  db.exec(
    `CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`,
  )
  const found = schemaVersion(db)
  for (const migration of migrations.filter(each => each.version > found)) {
    db.exec('BEGIN IMMEDIATE')
    try {
      db.exec(migration.sql)
      db.prepare('INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)').run(
        migration.version,
        migration.name,
        now,
      )
      db.exec('COMMIT')
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw new Error(`[migrate] ${migration.name} failed; nothing of it was kept`, { cause: error })
    }
  }
}

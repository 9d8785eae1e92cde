/** Opens a database for reading beside its writer, or without one. */
import { existsSync } from 'node:fs'
import { readMigrations, refuseNewer, schemaVersion } from './migrate.ts'
import { type Db, openDb } from './sqlite-adapter.ts'

/** Refuses a database that this code does not know, and says which way round. */
export function openForReading(path: string): Db {
  if (!existsSync(path))
    throw new Error(
      `[openSqliteStore] there is no store at ${path}: start the server once, or name the right data ` +
        'directory',
    )
  const db = openDb(path, { readOnly: true })
  const migrations = readMigrations()
  refuseNewer(db, migrations)
  const found = schemaVersion(db)
  const known = migrations.at(-1)?.version ?? 0
  if (found < known)
    throw new Error(
      `[openSqliteStore] ${path} has schema version ${found}, this program needs ${known}: start the ` +
        'server once to upgrade it',
    )
  return db
}

/** Opens a database for reading, with or without a running writer. */
import { existsSync } from 'node:fs'
import { readMigrations, refuseOther, schemaVersion } from './migrate.ts'
import { type Db, openDb } from './adapter.ts'

/** Throws if the schema is newer or older than this code, and says which. */
export function openForReading(path: string): Db {
  if (!existsSync(path))
    throw new Error(
      `[openSqliteStore] no store at ${path}: start the server once, or set the right data directory`,
    )
  const db = openDb(path, { readOnly: true })
  const migrations = readMigrations()
  refuseOther(db, migrations)
  const found = schemaVersion(db)
  const known = migrations.at(-1)?.version ?? 0
  if (found < known)
    throw new Error(
      `[openSqliteStore] ${path} has schema version ${found}, this program needs ${known}: start the ` +
        'server once to upgrade it',
    )
  return db
}

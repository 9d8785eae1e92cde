/** Opens a database for reading, with or without a running writer. */
import { existsSync } from 'node:fs'
import { type Migration, newestOf, refuseOlder } from '../engine/migrations.ts'
import { NoStore } from '../engine/no-store.ts'
import { readMigrations, refuseOther, schemaVersion } from './migrate.ts'
import { type Db, openDb } from './adapter.ts'

/** Opens a store that this code may read, after an upgrade if it is older. Throws NoStore, UnsupportedSchema. */
export function openForInspection(path: string, migrations: readonly Migration[] = readMigrations()): Db {
  if (!existsSync(path))
    throw new NoStore(
      `[openSqliteStore] no store at ${path}: start the server once, or set the right data directory`,
    )
  const db = openDb(path, { readOnly: true })
  try {
    refuseOther(db, migrations)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Throws UnsupportedSchema if this code cannot read the schema as it is. */
export function openForReading(path: string): Db {
  const db = openForInspection(path)
  const [found, known] = [schemaVersion(db), newestOf(readMigrations())]
  if (found >= known) return db
  db.close()
  return refuseOlder(path, found, known)
}

/** What an upgrade does to the store of a data directory. Reads it only, also while a server uses it. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pendingOf, planUpgrade, scansOf, type UpgradePlan } from '../engine/upgrade-plan.ts'
import type { Migration } from '../engine/migrations.ts'
import type { Db } from './adapter.ts'
import { DATABASE } from './live-copy.ts'
import { appliedMigrations, readMigrations, recordsOldestProgram } from './migrate.ts'
import { openForInspection } from './open-reader.ts'

/** Throws NoStore or UnsupportedSchema. `migrations`: those of another version of this program. */
export function checkSqliteUpgrade(
  dir: string,
  migrations: readonly Migration[] = readMigrations(),
): UpgradePlan {
  const path = join(dir, DATABASE)
  const db = openForInspection(path, migrations)
  try {
    const count = (sql: string): number => Number(db.prepare(sql).get()?.['count'])
    const applied = appliedMigrations(db)
    const inspected = {
      applied,
      recordsOldest: recordsOldestProgram(db),
      sizeBytes: sizeOf(path) + sizeOf(`${path}-wal`),
      sessions: count('SELECT count(*) AS count FROM sessions'),
      events: count('SELECT coalesce(sum(last_id), 0) AS count FROM sessions'),
    }
    return planUpgrade(inspected, migrations, countRows(db, scansOf(pendingOf(applied, migrations))))
  } finally {
    db.close()
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

const countRows = (db: Db, scans: readonly { table: string }[]): Record<string, number> =>
  Object.fromEntries(
    scans.map(({ table }) => [
      table,
      Number(db.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.['count']),
    ]),
  )

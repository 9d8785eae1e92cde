/** What an upgrade does to a store on Postgres. Reads it only, also while servers use it. */
import { type Migration, newestOf } from '../engine/migrations.ts'
import { pendingOf, planUpgrade, scansOf, type UpgradePlan } from '../engine/upgrade-plan.ts'
import { parsePostgresUrl } from './address.ts'
import { closeClient, openClient } from './connections.ts'
import { type Connection, inspectSchema, readMigrations } from './migrate.ts'

export type UpgradeCheckOptions = {
  /** postgres://…, with an optional parameter `schema`. */
  url: string
  /** The default if the URL does not contain it. */
  schema?: string
}

/** Throws NoStore or UnsupportedSchema. `migrations`: those of another version of this program. */
export async function checkPostgresUpgrade(
  { url, schema }: UpgradeCheckOptions,
  migrations: readonly Migration[] = readMigrations(),
): Promise<UpgradePlan> {
  const address = parsePostgresUrl(url, schema)
  const client = await openClient(address, 'plain', () => undefined, { mustBeSafe: false })
  try {
    const { applied, recordsOldest } = await inspectSchema(client, address.schema, newestOf(migrations))
    const [figures] = (await client.query(FIGURES)).rows as Record<string, unknown>[]
    const rows: Record<string, number> = {}
    for (const { table } of scansOf(pendingOf(applied, migrations)))
      rows[table] ??= await countRows(client, table)
    return planUpgrade(
      {
        applied,
        recordsOldest,
        sizeBytes: Number(figures?.['bytes']),
        sessions: Number(figures?.['sessions']),
        events: Number(figures?.['events']),
      },
      migrations,
      rows,
    )
  } finally {
    closeClient(client)
  }
}

const FIGURES = `
  SELECT (SELECT count(*) FROM sessions) AS sessions,
    (SELECT coalesce(sum(last_id), 0) FROM sessions) AS events,
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r') AS bytes`

/** The estimate of the planner, which costs nothing; counted if the table was never analysed. */
async function countRows(client: Connection, table: string): Promise<number> {
  const known = await client.query('SELECT reltuples AS count FROM pg_class WHERE oid = to_regclass($1)', [
    table,
  ])
  const estimate = Number(known.rows[0]?.['count'] ?? -1)
  if (estimate >= 0) return Math.round(estimate)
  const { rows } = await client.query(`SELECT count(*) AS count FROM "${table}"`)
  return Number(rows[0]?.['count'])
}

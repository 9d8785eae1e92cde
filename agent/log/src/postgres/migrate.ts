/**
 * Migrates a schema to the current version: numbered SQL files, each applied once, in its own transaction, by
 * one process at a time.
 */
import { asError } from '@cairn/protocol'
import { assetBeside } from '@cairn/tooling/beside'
import { type Migration, newerSchema, olderNumbering, readMigrationsIn } from '../engine/migrations.ts'

/** Class of the advisory lock, combined with a hash of the schema's name. */
const LOCK_CLASS = 0x636169

/** The required subset of pg's Client. */
export type Connection = {
  query(sql: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

export const readMigrations = (): Migration[] =>
  readMigrationsIn(assetBeside(import.meta, './migrations/', 'migrations-postgres/'))

/** Null if the schema does not exist, 0 if it is empty. */
async function schemaVersion(client: Connection, schema: string): Promise<number | null> {
  const { rows } = await client.query(
    'SELECT to_regnamespace($1) IS NOT NULL AS there, to_regclass($2) IS NOT NULL AS migrated',
    [schema, `${schema}.schema_migrations`],
  )
  if (rows[0]?.['there'] !== true) return null
  if (rows[0]['migrated'] !== true) return 0
  const found = await client.query('SELECT coalesce(max(version), 0) AS version FROM schema_migrations')
  return Number(found.rows[0]?.['version'])
}

async function refuseOther(client: Connection, schema: string, found: number, known: number): Promise<void> {
  if (found > 0 && (await isOlderNumbering(client, schema))) throw new Error(olderNumbering(found, known))
  if (found > known) throw new Error(newerSchema(found, known, 'dump'))
}

/** A store of the older numbering has sessions and no directory. */
async function isOlderNumbering(client: Connection, schema: string): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NULL AS older`,
    [`${schema}.sessions`, `${schema}.directory`],
  )
  return rows[0]?.['older'] === true
}

/** With `mayWrite` false it only checks, and throws unless the schema is exactly the current one. */
export async function migrate(
  client: Connection,
  schema: string,
  { mayWrite = true, migrations = readMigrations() }: { mayWrite?: boolean; migrations?: Migration[] } = {},
): Promise<void> {
  const known = migrations.at(-1)?.version ?? 0
  if (!mayWrite) {
    const found = await schemaVersion(client, schema)
    if (found === null || found === 0)
      throw new Error(
        `[migrate] no store in the schema ${schema}: start the server once, or set the right schema`,
      )
    await refuseOther(client, schema, found, known)
    if (found < known)
      throw new Error(
        `[migrate] the schema ${schema} has version ${found}, this program needs ${known}: start the ` +
          'server once to upgrade it',
      )
    return
  }
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_CLASS, schema])
  try {
    // Only if it is missing: a role that was given a schema need not be allowed to create one.
    if ((await schemaVersion(client, schema)) === null)
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await client.query(`
      CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL,
        applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`)
    const found = (await schemaVersion(client, schema)) ?? 0
    await refuseOther(client, schema, found, known)
    for (const migration of migrations.filter(each => each.version > found)) await apply(client, migration)
  } finally {
    // A lost connection has released the lock by itself.
    await client
      .query('SELECT pg_advisory_unlock($1, hashtext($2))', [LOCK_CLASS, schema])
      .catch(() => undefined)
  }
}

async function apply(client: Connection, migration: Migration): Promise<void> {
  const failures: unknown[] = []
  await client.query('BEGIN')
  await commit(client, migration).catch(async (error: unknown) => {
    failures.push(error)
    // On a lost connection there is nothing to roll back; the first error is reported, with the second
    // attached.
    await client.query('ROLLBACK').catch((second: unknown) => failures.push(second))
  })
  const [first] = failures
  if (first === undefined) return
  throw new Error(`[migrate] ${migration.name} failed; nothing of it was kept`, {
    cause: failures.length === 1 ? first : new AggregateError(failures, asError(first).message),
  })
}

async function commit(client: Connection, { version, name, sql }: Migration): Promise<void> {
  await client.query(sql)
  await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [version, name])
  await client.query('COMMIT')
}

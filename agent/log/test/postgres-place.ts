/**
 * The places of Postgres stores in tests: one schema per place, in the database that TEST_DATABASE_URL or
 * DATABASE_URL names, else in a server that the whole test run shares and that is started for it. Never
 * skipped: without either, the caller fails.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { type Migration, newestOf } from '../src/engine/migrations.ts'
import { migrate } from '../src/postgres/migrate.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** `place` is the URL of a store with its schema, in the format of DATABASE_URL. */
export type PostgresPlace = { place: string; schema: string; remove(): Promise<void> }

const PATIENCE_MS = 180_000

/** Test files run in their own processes; the run is their parent. A script is its own run. */
const runPid = (): number => (process.env['VITEST'] === undefined ? process.pid : process.ppid)

const givenDatabase = (): string | undefined =>
  process.env['TEST_DATABASE_URL'] || process.env['DATABASE_URL'] || undefined

/** The database in which tests may create schemas. */
export async function sharedPostgres(): Promise<string> {
  const given = givenDatabase()
  if (given) return given
  const dir = join(tmpdir(), `cairn-test-postgres-${runPid()}`)
  if (claimDirectory(dir)) {
    const keeper = spawn(
      process.execPath,
      [fileURLToPath(new URL('./postgres-keeper.ts', import.meta.url)), dir, String(runPid())],
      { detached: true, stdio: 'ignore' },
    )
    keeper.unref()
  }
  const file = join(dir, 'found.json')
  for (const deadline = Date.now() + PATIENCE_MS; !existsSync(file); await delay(20)) {
    if (Date.now() > deadline)
      throw new Error(`[postgres] the test server in ${dir} did not come up in ${PATIENCE_MS / 1000} s`)
  }
  const found = JSON.parse(readFileSync(file, 'utf8')) as { url: string } | { error: string }
  if ('error' in found) throw new Error(found.error)
  return found.url
}

/** Only one process of the run creates it. */
function claimDirectory(dir: string): boolean {
  try {
    mkdirSync(dir)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function placeIn(database: string): PostgresPlace {
  const schema = `cairn_test_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  const url = new URL(database)
  url.searchParams.set('schema', schema)
  return {
    place: url.href,
    schema,
    remove: () => runSql(database, `DROP SCHEMA IF EXISTS ${schema} CASCADE`),
  }
}

/**
 * A new schema name; the store creates the schema when it is opened, or these migrations do now. `remove`
 * drops it.
 */
export async function makePostgresPlace(migrations?: readonly Migration[]): Promise<PostgresPlace> {
  const made = placeIn(await sharedPostgres())
  if (migrations !== undefined) await migratePlace(made, migrations)
  return made
}

/** Migrates as a program with these migrations does. */
export const migratePlace = (
  { place, schema }: PostgresPlace,
  migrations: readonly Migration[],
): Promise<void> => withClient(place, client => migrate(client, schema, { migrations }))

/** Emptied places that still have the tables of the store, by the schema version if migrations were given. */
const emptied = new Map<number | undefined, PostgresPlace[]>()

/**
 * A place for one test, whose `remove` deletes the rows and keeps the tables for the next test of the file:
 * creating and dropping the tables takes longer than most tests. Every store on it must be closed before. In
 * a given database nothing is left behind.
 */
export async function borrowPostgresPlace(migrations?: readonly Migration[]): Promise<PostgresPlace> {
  if (givenDatabase() !== undefined) return makePostgresPlace(migrations)
  const version = migrations === undefined ? undefined : newestOf(migrations)
  const pool = emptied.get(version) ?? []
  emptied.set(version, pool)
  const lent = pool.pop() ?? (await makePostgresPlace(migrations))
  return {
    ...lent,
    async remove() {
      await runSql(lent.place, emptyTables(lent.schema))
      pool.push(lent)
    },
  }
}

/** Empties every table. Migrations insert no rows. */
const emptyTables = (schema: string): string => `
  DO $$
  DECLARE name text;
  BEGIN
    SET LOCAL session_replication_role = replica; -- Foreign keys ask for no order.
    FOR name IN SELECT tablename FROM pg_tables
      WHERE schemaname = '${schema}' AND tablename <> 'schema_migrations'
    LOOP
      EXECUTE format('DELETE FROM %I', name);
    END LOOP;
  END $$`

/** A place on its own server, which the test may crash and restart. */
export async function makePrivatePostgres(): Promise<PostgresPlace & { server: PostgresServer }> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-private-postgres-'))
  const server = await startPostgres(dir)
  const remove = async (): Promise<void> => {
    // Its data is not worth a checkpoint.
    await server.crash()
    rmSync(dir, { recursive: true, force: true })
  }
  return { ...placeIn(server.url), server, remove }
}

/** Runs SQL beside the store, in its database; unqualified names belong to the schema of the place. */
export async function runSql(place: string, sql: string): Promise<void> {
  await querySql(place, sql)
}

export const querySql = (
  place: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> =>
  withClient(place, async client => {
    const { rows } = (await client.query(sql, [...values])) as { rows: Record<string, unknown>[] }
    return rows
  })

async function withClient<T>(place: string, use: (client: Client) => Promise<T>): Promise<T> {
  const url = new URL(place)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const client = new Client({
    connectionString: url.href,
    ...(schema !== null && { options: `-c search_path=${schema}` }),
  })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

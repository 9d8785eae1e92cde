/**
 * Connections of this process to the server: their setup, the check that writes are durable, and the pool for
 * small statements.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type ClientConfig, Pool, type PoolClient, type QueryResult, types } from 'pg'
import type { PostgresAddress } from './address.ts'
import { asStoreFailure, isLost, isStale } from './failures.ts'
import { UnsafeServer } from './unsafe-server.ts'

export type Value = string | number | boolean | null | readonly (string | number | null)[]
export type Rows = Record<string, unknown>[]
/** A statement with the name under which it is prepared. */
export type Statement = { name: string; text: string }
export type Report = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void

const INT8 = 20
const CONNECT_MS = 5_000
/** After this the connection counts as lost: a network that drops packets reports no error. */
const QUERY_MS = 30_000
/** A process that is suspended within a transaction holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 10_000
/** How long a read waits for a server that restarts. */
const MAX_WAIT_MS = 2_000

/** Ids, counters and times stay below 2^53. */
const getTypeParser: ClientConfig['types'] = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (oid === INT8 ? Number : types.getTypeParser(oid, format)) as never,
}

/** Postgres text cannot hold U+0000, which callers may send. */
function clean(value: Value): Value {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
  return Array.isArray(value) ? value.map(each => clean(each as Value) as string | number | null) : value
}

/** A statement in the driver's format. */
export const bound = (
  statement: Statement,
  values: readonly Value[],
): { name: string; text: string; values: Value[] } => ({ ...statement, values: values.map(clean) })

const baseConfig = ({ url, schema, options }: PostgresAddress): ClientConfig => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_MS,
  query_timeout: QUERY_MS,
  keepAlive: true,
  application_name: 'cairn',
  types: getTypeParser,
  options: (
    `${options} -c search_path=${schema} -c ` +
    `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS} -c client_min_messages=warning -c ` +
    'synchronous_commit=on'
  ).trim(),
})

/**
 * Acknowledged means durable. Checked on every connection that writes, because a server may restart with
 * other settings.
 */
async function refuseUnsafe(client: Client, shown: string): Promise<void> {
  const { rows } = await client.query<{ fsync: string; sync: string; pages: string; standby: boolean }>(`
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS sync,
      current_setting('full_page_writes') AS pages, pg_is_in_recovery() AS standby`)
  const found = rows[0]
  if (found?.standby === true)
    throw new UnsafeServer(`${shown} is a standby and does not accept writes: use the primary`)
  if (found?.fsync !== 'on')
    throw new UnsafeServer(
      `${shown} runs with fsync = off, so a power cut takes what was acknowledged: set fsync = on in ` +
        'postgresql.conf and restart it',
    )
  if (found.pages !== 'on')
    throw new UnsafeServer(
      `${shown} runs with full_page_writes = off, so a power cut may leave torn pages: set it on`,
    )
  if (found.sync === 'off')
    throw new UnsafeServer(
      `${shown} answers synchronous_commit = off although this connection asked for on: a pooler in ` +
        'between must pass startup options on',
    )
}

/** A connection outside the pool. `writes`: statements may be pipelined. `queryMs` 0: no timeout. */
export async function openClient(
  address: PostgresAddress,
  kind: 'writes' | 'plain',
  ended: (client: Client) => void,
  { mustBeSafe = kind === 'writes', queryMs = QUERY_MS } = {},
): Promise<Client> {
  const client = new Client({
    ...baseConfig(address),
    query_timeout: queryMs,
    ...(kind === 'writes' && { pipeline: true }),
  } as ClientConfig)
  let isOpen = false
  const tell = (): void => {
    if (isOpen) ended(client)
  }
  client.on('error', tell)
  client.on('end', tell)
  try {
    await client.connect()
    if (mustBeSafe) await refuseUnsafe(client, address.shown)
    isOpen = true
    return client
  } catch (error) {
    closeClient(client)
    throw error
  }
}

/** Does not wait, because the server may be unreachable. */
export function closeClient(client: Client): void {
  client.end().catch(() => undefined) // Errors on closing a broken connection are irrelevant.
}

export type Database = {
  /**
   * Runs one statement in its own transaction. Only repeatable statements are retried when the connection is
   * lost.
   */
  query(statement: Statement, values: readonly Value[], options?: { repeatable?: boolean }): Promise<Rows>
  /** Runs several statements in one transaction; an exception rolls it back. */
  transaction<T>(
    what: string,
    run: (ask: (statement: Statement, values?: readonly Value[]) => Promise<Rows>) => Promise<T>,
    begin?: string,
  ): Promise<T>
  close(): Promise<void>
}

export function openPool(address: PostgresAddress, report: Report): Database {
  const pool = new Pool({ ...baseConfig(address), max: address.pool, idleTimeoutMillis: 30_000 })
  // The pool listens for errors on idle connections only. A connection that is lost within a transaction
  // emits an error as well, which without a listener would end the process; its next statement rejects with
  // the same error.
  pool.on('connect', client => void client.on('error', () => undefined))
  // An idle connection was lost; the pool opens another when needed.
  pool.on('error', error => report('warn', 'lost a connection to the database', { error: error.message }))
  const ask = async (client: PoolClient, statement: Statement, values: readonly Value[]): Promise<Rows> => {
    const { rows }: QueryResult<Rows[number]> = await client.query(bound(statement, values))
    return rows
  }

  /** A connection for one use. It is closed if it is lost or stale, or if `use` calls `discard`. */
  async function borrow<T>(use: (client: PoolClient, discard: () => void) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let isUnusable = false
    const discard = (): void => void (isUnusable = true)
    try {
      return await use(client, discard)
    } catch (error) {
      if (isLost(error)) discard()
      throw error
    } finally {
      client.release(isUnusable)
    }
  }

  /** Repeats what a stale connection has refused: nothing of it was executed. Each may be stale once. */
  async function onFresh<T>(use: () => Promise<T>): Promise<T> {
    for (let left = address.pool; ; left -= 1) {
      try {
        return await use()
      } catch (error) {
        if (!isStale(error) || left === 0) throw error
      }
    }
  }

  return {
    async query(statement, values, { repeatable = false } = {}) {
      const until = performance.now() + MAX_WAIT_MS
      for (let wait = 25; ; wait *= 2) {
        try {
          return await onFresh(() => borrow(client => ask(client, statement, values)))
        } catch (error) {
          if (!repeatable || !isLost(error) || performance.now() + wait > until)
            throw asStoreFailure(statement.name, error)
          await delay(wait)
        }
      }
    },
    transaction: (what, run, begin = 'BEGIN') =>
      onFresh(() =>
        borrow(async (client, discard) => {
          try {
            await client.query(begin)
            const result = await run((statement, values = []) => ask(client, statement, values))
            await client.query('COMMIT')
            return result
          } catch (error) {
            if (!isLost(error)) await client.query('ROLLBACK').catch(discard)
            throw error
          }
        }),
      ).catch((error: unknown) => Promise.reject(asStoreFailure(what, error))),
    close: () => pool.end(),
  }
}

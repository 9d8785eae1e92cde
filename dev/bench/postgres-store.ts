/**
 * The same commits on the embedded store and on Postgres, in one run on one machine: `npm run
 * dev -- bench:postgres`. The server is the one that TEST_DATABASE_URL or DATABASE_URL names, else one
 * that is started for it, with fsync on and on the same disk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, openPostgresStore, openSqliteStore, tail } from '@cairn/log'
import { Client } from 'pg'
import { makePostgresPlace } from '../../agent/log/test/postgres-place.ts'
import { draft, makeSessions, probeDisk } from '../../agent/log/bench/append.ts'
import { closedLoop, quantile, printRows, type Row } from '../../agent/log/bench/measure.ts'

const SECONDS = 3
const ROUND_MS = 1000

async function measure(name: string, store: LogStore): Promise<Row[]> {
  await makeSessions(store, 1000)
  const rows: Row[] = []
  for (const concurrent of [1, 64, 256, 1000]) {
    rows.push(
      await closedLoop(`${name}: commits of one event`, concurrent, SECONDS, caller =>
        store.commit({ session_id: `session-${caller}`, events: [draft] }),
      ),
    )
  }
  rows.push(
    await closedLoop(`${name}: commits to one session`, 64, SECONDS, () =>
      store.commit({ session_id: 'session-0', events: [draft] }),
    ),
  )
  const block = Array.from({ length: 16 }, () => draft)
  const blocks = await closedLoop(`${name}: events, 16 a commit`, 64, SECONDS, caller =>
    store.commit({ session_id: `session-${caller}`, events: block }),
  )
  rows.push({ ...blocks, per_second: blocks.per_second * block.length })
  return rows
}

/** From the answer to the writer until a reader of another process's store has the event. */
async function wakeUp(writer: LogStore, reader: LogStore): Promise<Row> {
  const stop = new AbortController()
  const sessionId = 'session-999'
  const { last_id } = await writer.commit({ session_id: sessionId, events: [draft] })
  const acknowledged = new Map<number, number>()
  const times: number[] = []
  const following = (async () => {
    for await (const page of tail(reader, sessionId, last_id, stop.signal)) {
      const now = performance.now()
      for (const { id } of page) times.push(Math.max(0, now - (acknowledged.get(id) ?? now)))
    }
  })()
  const start = performance.now()
  while (performance.now() - start < SECONDS * ROUND_MS) {
    const committed = await writer.commit({ session_id: sessionId, events: [draft] })
    acknowledged.set(committed.last_id, performance.now())
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  stop.abort()
  await following
  const sorted = times.toSorted((a, b) => a - b)
  const round = (ms: number): number => Math.round(ms * 1000) / 1000
  return {
    what: 'Postgres: acknowledged → read by another process',
    concurrent: 1,
    per_second: Math.round(times.length / SECONDS),
    p50_ms: round(quantile(sorted, 0.5)),
    p99_ms: round(quantile(sorted, 0.99)),
  }
}

/**
 * What a table with a counter a session does without a batching writer, with and without a NOTIFY an insert.
 */
async function naive(place: string, notifies: boolean): Promise<Row> {
  const url = new URL(place)
  const schema = url.searchParams.get('schema') ?? 'public'
  url.searchParams.delete('schema')
  const clients = await Promise.all(
    Array.from({ length: 64 }, async () => {
      const client = new Client({ connectionString: url.href, options: `-c search_path=${schema}` })
      await client.connect()
      return client
    }),
  )
  await clients[0]?.query(
    `
    CREATE TABLE IF NOT EXISTS naive (session INT, id BIGINT, json TEXT, PRIMARY KEY (session,
      id)); CREATE TABLE IF NOT EXISTS naive_heads (session INT PRIMARY KEY,
      head BIGINT); INSERT INTO naive_heads
    SELECT n, 0
    FROM generate_series(0, 63) n
    ON CONFLICT DO NOTHING`,
  )
  const json = JSON.stringify(draft)
  const text = `
    WITH head AS (UPDATE naive_heads SET head = head + 1 WHERE session = $1 RETURNING head),
      written AS (INSERT INTO naive SELECT $1, head, $2 FROM head RETURNING id)
    SELECT id${notifies ? `, pg_notify('naive', $1::text)` : ''}
    FROM written`
  const row = await closedLoop(
    `a table, one insert a transaction${notifies ? ' with NOTIFY' : ''}`,
    64,
    SECONDS,
    caller => clients[caller]!.query({ name: `naive${String(notifies)}`, text, values: [caller, json] }),
  )
  await Promise.all(clients.map(client => client.end()))
  return row
}

export async function benchPostgres(parent: string = tmpdir()): Promise<Row[]> {
  const dir = mkdtempSync(join(parent, 'cairn-bench-'))
  const { place, remove } = await makePostgresPlace()
  const rows: Row[] = []
  try {
    rows.push(await probeDisk(dir))
    const embedded = await openSqliteStore({ dir })
    const ours = await measure('embedded', embedded)
    await embedded.close()
    const [store, other] = [await openPostgresStore({ url: place }), await openPostgresStore({ url: place })]
    const theirs = await measure('Postgres', store)
    rows.push(
      ...ours.flatMap((row, at) => [row, ...(theirs[at] === undefined ? [] : [theirs[at]])]),
      await wakeUp(store, other),
    )
    await Promise.all([store.close(), other.close()])
    rows.push(await naive(place, false), await naive(place, true))
  } finally {
    await remove()
    rmSync(dir, { recursive: true, force: true })
  }
  return rows
}

if (import.meta.main) printRows(await benchPostgres(process.argv[2]))

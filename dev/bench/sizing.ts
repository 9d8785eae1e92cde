/**
 * What the sizing guide (docs/guides/sizing.md) needs beside `cairn bench`, on the embedded store and on
 * Postgres: the disk that events take, the first wake of long sessions, and sessions that wake a second.
 * `npm run dev -- bench:sizing`, with any of `disk`, `lives` and `wakes` for a part of it.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, openPostgresStore, openSqliteStore } from '@cairn/log'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { createSession } from '@cairn/sessions'
import { Client } from 'pg'
import { benchChannels } from '../../agent/app/src/bench/channels.ts'
import { newId, owner } from '../../agent/harness/bench/life-job.ts'
import { benchLife } from '../../agent/harness/bench/life.ts'
import { liveLong } from '../../agent/harness/bench/long-life.ts'

const PARTS = ['disk', 'lives', 'wakes']
const parts = process.argv.slice(2)
const unknown = parts.find(part => !PARTS.includes(part))
if (unknown !== undefined) throw new Error(`Unknown part "${unknown}": must be one of ${PARTS.join(', ')}`)
const does = (part: string): boolean => parts.length === 0 || parts.includes(part)

const EVENTS = 100_000
/** Events of the sessions that wake. */
const LIVES = [1_000, 100_000]

async function writeEvents(store: LogStore): Promise<void> {
  const deps = { store, now: Date.now, newId }
  const { id } = await createSession(deps, ['assistant'], { principal: owner, title: 'A long life' })
  await liveLong(store, id, EVENTS)
  await store.close()
}

async function embeddedBytes(dir: string): Promise<number> {
  await writeEvents(await openSqliteStore({ dir }))
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

/** Tables with their indexes. */
async function postgresBytes(place: string): Promise<number> {
  await writeEvents(await openPostgresStore({ url: place }))
  const url = new URL(place)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const client = new Client({ connectionString: url.href })
  await client.connect()
  const { rows } = await client.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(c.oid)) AS bytes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [schema],
  )
  await client.end()
  return Number(rows[0]?.bytes)
}

const load = (): string => `load ${(loadavg()[0] ?? 0).toFixed(1)}`
const disk = (name: string, bytes: number): void =>
  console.log(`${name}: ${(bytes / EVENTS).toFixed(0)} kB per 1,000 events (${load()})`)

const dir = mkdtempSync(join(tmpdir(), 'cairn-bench-'))
const [log, channels, lives] = [
  await makePostgresPlace(),
  await makePostgresPlace(),
  await makePostgresPlace(),
]
try {
  if (does('disk')) {
    disk('embedded', await embeddedBytes(join(dir, 'log')))
    disk('Postgres', await postgresBytes(log.place))
  }
  for (const [name, database] of [
    ['embedded', undefined],
    ['Postgres', lives.place],
  ] as const) {
    if (!does('lives')) break
    const rows = await benchLife(dir, { lives: LIVES, ...(database === undefined ? {} : { database }) })
    for (const { events, began, wake_ms, turn_p50_ms } of rows)
      console.log(
        `${name}: ${events} events, first wake from the ${began}: ${wake_ms.toFixed(1)} ms, a turn after it: ` +
          `${turn_p50_ms.toFixed(1)} ms (${load()})`,
      )
  }
  for (const [name, database] of [
    ['embedded', undefined],
    ['Postgres', channels.place],
  ] as const) {
    if (!does('wakes')) break
    for (const { name: what, value, unit } of await benchChannels(dir, database))
      console.log(`${name}: ${what}: ${value} ${unit} (${load()})`)
  }
} finally {
  await Promise.all([log.remove(), channels.remove(), lives.remove()])
  rmSync(dir, { recursive: true, force: true })
}

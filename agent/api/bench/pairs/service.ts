/**
 * The service of one tree, in a process of its own: argv[2] is a Start. Its modules are loaded by path, so
 * that two trees of different dates can be measured by one driver. It answers "cpu" with what its HTTP thread
 * has used, and "gc" after a collection.
 */
import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Log from '@cairn/log'
import type * as Protocol from '@cairn/protocol'
import type * as Api from '../../src/index.ts'

export type Start = { tree: string; dir: string; events: number }
/** `long` holds `events` messages, `watched` is empty. */
export type Ready = { port: number; token: string; sessions: string[]; long: string; watched: string }

const SESSIONS = 64
const { tree, dir, events } = JSON.parse(process.argv[2] ?? '{}') as Start
const load = <T>(path: string): Promise<T> =>
  import(pathToFileURL(join(resolve(tree), 'agent', path)).href) as Promise<T>
const { openSqliteStore } = await load<typeof Log>('log/src/index.ts')
const { Config } = await load<typeof Protocol>('protocol/src/index.ts')
const { createApi, mintUserToken } = await load<typeof Api>('api/src/index.ts')
const { commitMessages } = await load<typeof import('../fill.ts')>('api/bench/fill.ts')

const asked = { requests_per_minute: 1_000_000_000, streams_per_principal: 100_000 }
// An older tree has fewer limits.
const known = Object.keys(Config.parse({}).limits)
const limits = Object.fromEntries(Object.entries(asked).filter(([name]) => known.includes(name)))
const store = await openSqliteStore({ dir: join(dir, 'store') })
const api = await createApi({
  store,
  config: Config.parse({ limits }),
  dataDir: dir,
  workspacesDir: join(dir, 'workspaces'),
  now: Date.now,
  newId: randomUUID,
  log: { info: () => {}, warn: console.error, error: console.error },
  version: 'bench',
  demo: false,
})
const { port } = await api.listen(0, '127.0.0.1')
const admin = await store.accounts.ensureFirstAdmin(
  { id: randomUUID(), name: 'Bench' },
  { id: randomUUID(), email: 'bench@example.org', name: 'Bench' },
)
const token = await mintUserToken({ dataDir: dir, userId: admin.id, now: Date.now(), ttlS: 4 * 60 * 60 })
const newSession = async (): Promise<string> => {
  const { id } = await store.createSession({
    id: randomUUID(),
    org_id: admin.org_id,
    created_by: admin.id,
    created_by_kind: 'user',
    agent: 'assistant',
    channel: 'web',
  })
  return id
}
const sessions = await Promise.all(Array.from({ length: SESSIONS }, newSession))
const [long, watched] = [await newSession(), await newSession()]
await commitMessages(store, long, events, 'x'.repeat(400))

process.on('message', (what: 'cpu' | 'gc') => {
  if (what === 'gc') globalThis.gc?.()
  process.send?.(process.threadCpuUsage())
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port, token, sessions, long, watched } satisfies Ready)

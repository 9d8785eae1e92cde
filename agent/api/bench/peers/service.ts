/**
 * The whole service for the comparison, in a process of its own: authentication, validation and the log, on
 * either store. Started as a child with a Start in argv; sends the HttpSpec by which the load generator
 * reaches it.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openPostgresStore, openSqliteStore } from '@cairn/log'
import type { HttpSpec } from '@cairn/log/bench/peers/http-driver'
import { Config } from '@cairn/protocol'
import { createApi, mintUserToken } from '../../src/index.ts'

/** `place`: a Postgres store; without it the embedded one, in `dir`. */
export type Start = { dir: string; place: string | null }

const SESSIONS = 64
const { dir, place } = JSON.parse(process.argv[2] ?? '{}') as Start
const store = place === null ? await openSqliteStore({ dir }) : await openPostgresStore({ url: place })
const api = await createApi({
  store,
  config: Config.parse({ limits: { requests_per_minute: 1_000_000_000, streams_per_principal: 100_000 } }),
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
const sessions = await Promise.all(
  Array.from({ length: SESSIONS }, async () => {
    const { id } = await store.createSession({
      id: randomUUID(),
      org_id: admin.org_id,
      created_by: admin.id,
      created_by_kind: 'user',
      agent: 'assistant',
      channel: 'web',
    })
    return id
  }),
)
const spec: HttpSpec = {
  kind: 'http',
  port,
  headers: { authorization: `Bearer ${token}` },
  post: sessions.map(id => `/v1/sessions/${id}/messages`),
  field: 'content',
  get: `/v1/sessions/${sessions[0]}/events?after=`,
  head: `/v1/sessions/${sessions[0]}`,
}
process.send?.(spec)
process.on('disconnect', () => process.exit(0))

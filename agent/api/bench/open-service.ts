/** The service as every benchmark of this folder measures it: no limits in the way, an administrator, a token. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { Config } from '@cairn/protocol'
import { createApi, mintUserToken } from '../src/index.ts'

/** What of a tree is measured; another tree's may have fewer limits. */
export type Measured = {
  Config: Pick<typeof Config, 'parse'>
  createApi: typeof createApi
  mintUserToken: typeof mintUserToken
}
export type BenchService = {
  port: number
  token: string
  newSession(): Promise<string>
  close(): Promise<void>
}

const LIMITS = { requests_per_minute: 1_000_000_000, streams_per_principal: 100_000 }
/** Longer than any benchmark, in seconds. */
const TOKEN_S = 4 * 60 * 60

export async function openService(
  store: LogStore,
  dir: string,
  measured: Measured = { Config, createApi, mintUserToken },
): Promise<BenchService> {
  const known = Object.keys(measured.Config.parse({}).limits)
  const limits = Object.fromEntries(Object.entries(LIMITS).filter(([name]) => known.includes(name)))
  const api = await measured.createApi({
    store,
    config: measured.Config.parse({ limits }),
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
  const asked = { dataDir: dir, userId: admin.id, now: Date.now(), ttlS: TOKEN_S }
  return {
    port,
    token: await measured.mintUserToken(asked),
    async newSession() {
      const { id } = await store.sessions.create({
        id: randomUUID(),
        org_id: admin.org_id,
        created_by: admin.id,
        created_by_kind: 'user',
        agent: 'assistant',
        channel: 'web',
      })
      return id
    },
    close: () => api.close(),
  }
}

/**
 * A running service for a test: its own store in its own folder, an administrator, and ways to call it as
 * different accounts.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { type LogStore, openPostgresStore, type UserRow } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { Config, type ConfigInput } from '@cairn/protocol'
import {
  type Api,
  type ApiDeps,
  createApi,
  createServiceAccount,
  mintUserToken,
  type Mount,
  openapiDocument,
} from '../src/index.ts'

export type Answer = { status: number; headers: Headers; text: string; json: ReturnType<typeof JSON.parse> }
export type CallInit = {
  method?: string
  token?: string | null
  body?: unknown
  headers?: Record<string, string>
  raw?: string | Uint8Array
}
export type Service = AsyncDisposable & {
  api: Api
  store: LogStore
  url: string
  port: number
  dir: string
  /** The administrator of the first organisation. */
  admin: UserRow
  adminToken: string
  /** A fresh token of the administrator, for use after time has passed. */
  mintAdmin(): Promise<string>
  logged: { level: string; message: string; fields: Record<string, unknown> | undefined }[]
  /** Advances the time. */
  advance(ms: number): void
  /** Sets the clock: dates jump, and no time passes. */
  step(ms: number): void
  now(): number
  call(path: string, init?: CallInit): Promise<Answer>
  /** Adds a second organisation: the service itself never creates one. */
  addOrganisation(): string
  addUser(
    email?: string,
    options?: { admin?: boolean; org_id?: string },
  ): Promise<{ user: UserRow; token: string }>
  addServiceAccount(options?: {
    scope?: 'own' | 'org'
    org_id?: string
    expires_at?: number | null
  }): Promise<{ id: string; token: string }>
  newSession(token?: string, path?: string): Promise<string>
  say(sessionId: string, content: string, token?: string): Promise<number>
}

export async function startService({
  config = {},
  postgres,
  mountsOf = () => [],
  ...deps
}: {
  config?: ConfigInput
  /** URL of a place for the store; absent: SQLite in the folder. */ postgres?: string
  mountsOf?: (deps: { store: LogStore; now: () => number; newId: () => string }) => readonly Mount[]
} & Partial<
  Pick<
    ApiDeps,
    | 'tuning'
    | 'webRoot'
    | 'demo'
    | 'metrics'
    | 'harnessStats'
    | 'connections'
    | 'notices'
    | 'browsers'
    | 'mcp'
  >
> = {}): Promise<Service> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-api-'))
  // The clock of the service stands still unless a test advances it.
  const startedAt = Date.now()
  let passed = 0
  let set = 0
  const now = (): number => startedAt + passed + set
  const monotonic = (): number => passed
  const store =
    postgres === undefined
      ? await openStoreInProcess({ dir: join(dir, 'store'), now, monotonic })
      : await openPostgresStore({ url: postgres, now })
  const logged: Service['logged'] = []
  const logAs = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    void logged.push({ level, message, fields })
  const api = await createApi({
    store,
    config: Config.parse({ limits: { requests_per_minute: 1_000_000 }, ...config }),
    dataDir: dir,
    workspacesDir: join(dir, 'workspaces'),
    now,
    monotonic,
    newId: randomUUID,
    log: { info: logAs('info'), warn: logAs('warn'), error: logAs('error') },
    version: '0.0.0-test',
    demo: false,
    mounts: mountsOf({ store, now, newId: randomUUID }),
    ...deps,
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const { port } = await api.listen(0, '127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  const admin = await store.accounts.ensureFirstAdmin(
    { id: randomUUID(), name: 'Test' },
    { id: randomUUID(), email: 'admin@example.org', name: 'Admin' },
  )
  const mint = (userId: string): Promise<string> => mintUserToken({ dataDir: dir, userId, now: now() })
  const adminToken = await mint(admin.id)

  const call: Service['call'] = async (
    path,
    { method = 'GET', token = adminToken, body, headers = {}, raw } = {},
  ) => {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(raw !== undefined
        ? { body: raw as never }
        : body === undefined
          ? {}
          : { body: JSON.stringify(body) }),
    })
    if (response.status >= 400) checkDocumented(method, path, response.status)
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    }
  }
  return {
    api,
    store,
    url,
    port,
    dir,
    admin,
    adminToken,
    logged,
    now,
    call,
    mintAdmin: () => mint(admin.id),
    advance: ms => {
      passed += ms
    },
    step: ms => {
      set += ms
    },
    addOrganisation() {
      const id = randomUUID()
      const db = new DatabaseSync(join(dir, 'store', 'cairn.db'))
      db.exec('PRAGMA busy_timeout = 5000')
      db.prepare(
        `INSERT INTO organisations (id, org_key, name, created_at)
        SELECT ?, max(org_key) + 1, ?, ? FROM organisations`,
      ).run(id, 'Other', now())
      db.close()
      return id
    },
    async addUser(
      email = `${randomUUID()}@example.org`,
      { admin: isAdmin = false, org_id = admin.org_id } = {},
    ) {
      const user = await store.accounts.createUser({
        id: randomUUID(),
        org_id,
        email,
        name: 'Someone',
        admin: isAdmin,
        password_hash: null,
      })
      return { user, token: await mint(user.id) }
    },
    async addServiceAccount({ scope = 'own', org_id = admin.org_id, expires_at = null } = {}) {
      const { account, token } = await createServiceAccount(store, {
        id: randomUUID(),
        org_id,
        name: 'machine',
        scope,
        created_by: admin.id,
        expires_at,
      })
      return { id: account.id, token }
    },
    async newSession(token = adminToken, path = '/v1/sessions') {
      const { status, json, text } = await call(path, { method: 'POST', token, body: {} })
      if (status !== 201) throw new Error(`creating a session answered ${status}: ${text}`)
      return json.id
    },
    async say(sessionId, content, token = adminToken) {
      const { status, json, text } = await call(`/v1/sessions/${sessionId}/messages`, {
        method: 'POST',
        token,
        body: { content },
      })
      if (status !== 202) throw new Error(`sending a message answered ${status}: ${text}`)
      return json.event_id
    },
    async [Symbol.asyncDispose]() {
      await api.close()
      await store.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Rejections that every path may return: no such route, no such method. */
const OF_PATHS = [404, 405]
const OPERATIONS = Object.entries(openapiDocument().paths).map(([path, methods]) => ({
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?(?:\\?|$)`),
  fixed: path.split('/').filter(part => !part.startsWith('{')).length,
  methods,
}))

/** Every rejection that a test receives must be in the OpenAPI document. */
function checkDocumented(method: string, path: string, status: number): void {
  const [found] = OPERATIONS.filter(({ pattern }) => pattern.test(path)).toSorted((a, b) => b.fixed - a.fixed)
  const responses = found?.methods[method === 'HEAD' ? 'get' : method.toLowerCase()]?.responses
  if (responses === undefined || OF_PATHS.includes(status) || String(status) in responses) return
  throw new Error(`${method} ${path} answered ${status}, which the OpenAPI document does not name for it`)
}

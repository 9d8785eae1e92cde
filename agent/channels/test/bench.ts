/** A service with channels on its own store, with a callback and a worker; everything ends with the test. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Channels, startChannels, wait } from '@cairn/channels'
import { type Commit, type LogStore, openPostgresStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { Config, type ConfigInput, decodeEvent, type SessionEvent } from '@cairn/protocol'
import { createSealing, type Sealing } from '@cairn/sessions'
import { onTestFinished } from 'vitest'
import { type Callback, startCallback } from './callback.ts'
import { type Said, SECRET, signed } from './signed.ts'
import { startEcho } from './worker.ts'

export const ORG = 'org_1'

/** What to close at the end of a test, or earlier: a test may use several benches at the same time. */
export type Away = (() => Promise<unknown>)[]
export async function putAway(away: Away): Promise<void> {
  for (const each of away.splice(0).toReversed()) await each()
}
/**
 * Cleans up at the end of the current test. A hook of this module would belong to the first test file only.
 */
function endingWithTest(): Away {
  const away: Away = []
  onTestFinished(() => putAway(away))
  return away
}

export type Kind = 'sqlite' | 'postgres'
export const KINDS = ['sqlite', 'postgres'] as const

export type Bench = {
  store: LogStore
  callback: Callback
  /** Advances the clock of the store, so leases expire. */
  advance(ms: number): void
  /** Starts a process with these channels; `store` replaces the real store. */
  start(store?: LogStore): Promise<Channels>
  /** Replaces the agents of the organisation, as its administrators do while the service runs. */
  setAgents(names: readonly string[]): void
  users: { ann: string; bob: string; root: string }
  /** Encrypts the secrets of connections created on the page. */
  sealing: Sealing
  workspacesDir: string
  /** The log lines of the processes. */
  lines: string[]
}

type Settings = NonNullable<ConfigInput['channels']>[string]
type Beside = {
  /** Starts a worker that answers. */
  echo?: boolean
  /** Replaces the webhook connection. */
  only?: Record<string, Settings>
  env?: Record<string, string>
  /** Replaces the cleanup at the end of the test. */
  away?: Away
  lines?: string[]
}
export async function makeBench(
  kind: Kind,
  settings: Partial<Settings> = {},
  config: ConfigInput = {},
  { echo = true, only, env = {}, away = endingWithTest(), lines = [] }: Beside = {},
): Promise<Bench> {
  let passed = 0
  const now = (): number => Date.now() + passed
  const store = await openStore(kind, now, away)
  away.push(() => store.close())
  if (echo) away.push(startEcho(store))
  const callback = await startCallback(SECRET)
  away.push(callback.close)
  const users = await addUsers(store)
  const workspaces = await makeDir(away)
  const sealing = createSealing({ file: join(workspaces, 'secrets.key') })
  const parsed = Config.parse({
    agents: { greeter: {} },
    ...config,
    channels: only ?? {
      ...config.channels,
      hook: {
        platform: 'webhook',
        secret_env: 'HOOK_SECRET',
        callback_url: callback.url,
        access: 'open',
        agent: 'greeter',
        ...settings,
      },
    },
  } as ConfigInput)
  let { agents } = parsed
  return {
    store,
    callback,
    users,
    sealing,
    workspacesDir: workspaces,
    lines,
    advance: ms => void (passed += ms),
    setAgents(names) {
      ;({ agents } = Config.parse({ agents: Object.fromEntries(names.map(name => [name, {}])) }))
    },
    async start(given = store) {
      const channels = await startChannels({
        store: given,
        config: parsed,
        env: { HOOK_SECRET: SECRET, ...env },
        org_id: ORG,
        created_by: users.root,
        configOf: () => Promise.resolve({ ...parsed, agents }),
        holder: randomUUID(),
        workspacesDir: workspaces,
        now,
        newId: randomUUID,
        random: () => 0.001,
        // The rate limiter has its own tests with a fake clock; here no message waits a second.
        wait: (ms, signal) => wait(ms / 1000, signal),
        sealing,
        guardedFetch: () => fetch,
        learnSecrets: () => undefined,
        report: (level, line, fields) => void lines.push(JSON.stringify([level, line, fields])),
      })
      away.push(channels.stop)
      return channels
    },
  }
}

async function openStore(kind: Kind, now: () => number, away: Away): Promise<LogStore> {
  if (kind === 'postgres') {
    const { place, remove } = await borrowPostgresPlace()
    away.push(remove)
    return openPostgresStore({ url: place, now })
  }
  return openStoreInProcess({ dir: await makeDir(away), now })
}

async function makeDir(away: Away): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-channels-'))
  away.push(() => rm(dir, { recursive: true, force: true }))
  return dir
}

async function addUsers({ accounts }: LogStore): Promise<Bench['users']> {
  const root = await accounts.ensureFirstAdmin(
    { id: ORG, name: 'Org' },
    { id: 'root', email: 'root@localhost', name: 'Root' },
  )
  const add = async (id: string): Promise<string> =>
    (
      await accounts.createUser({
        id,
        org_id: ORG,
        email: `${id}@localhost`,
        name: id,
        admin: false,
        password_hash: null,
      })
    ).id
  return { root: root.id, ann: await add('ann'), bob: await add('bob') }
}

/** A store that rejects some commits with an error. */
export const refusing = (store: LogStore, why: (commit: Commit) => Error | null): LogStore =>
  new Proxy(store, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of)
      if (name !== 'commit') return typeof value === 'function' ? value.bind(of) : value
      return async (commit: Commit) => {
        const error = why(commit)
        if (error !== null) throw error
        return of.commit(commit)
      }
    },
  })

export const pathOf = (channels: Channels): string => channels.paths[0]?.path ?? 'none'
export const call = (channels: Channels, said: { headers: Headers; raw: Uint8Array }): Promise<Response> =>
  channels.handle({
    method: 'POST',
    path: pathOf(channels),
    query: new URLSearchParams(),
    signal: new AbortController().signal,
    address: '192.0.2.1',
    ...said,
  })
export const say = async (channels: Channels, said: Said): Promise<void> =>
  void (await call(channels, signed(said)))

export const sessionsOf = async (store: LogStore) =>
  (await store.sessions.list({ org_id: ORG, limit: 100 })).sessions
export async function logOf(store: LogStore, sessionId: string): Promise<SessionEvent[]> {
  return (await store.events.read(sessionId, 0, 1000)).map(({ json }) => decodeEvent(json))
}

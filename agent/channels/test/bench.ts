/** A service of channels on a store of its own, with a callback and a worker; all ends with the test. */
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

/** What is closed when a test is over, or before: a test may have several benches side by side. */
export type Away = (() => Promise<unknown>)[]
export async function putAway(away: Away): Promise<void> {
  for (const each of away.splice(0).toReversed()) await each()
}
/** Ends with the test that runs. A hook of this module would be one of the first test file alone. */
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
  /** Time passes for the store: leases end. */
  advance(ms: number): void
  /** A process with these channels; `store` in place of the true one. */
  start(store?: LogStore): Promise<Channels>
  users: { ann: string; bob: string; root: string }
  /** Of the secrets of connections that are made on the page. */
  sealing: Sealing
  workspacesDir: string
  /** What the processes had to say. */
  lines: string[]
}

type Settings = NonNullable<ConfigInput['channels']>[string]
type Beside = {
  /** A worker that answers. */
  echo?: boolean
  /** In place of the webhook. */
  only?: Record<string, Settings>
  env?: Record<string, string>
  /** In place of the end of the test. */
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
  return {
    store,
    callback,
    users,
    sealing,
    workspacesDir: workspaces,
    lines,
    advance: ms => void (passed += ms),
    async start(given = store) {
      const channels = await startChannels({
        store: given,
        config: parsed,
        env: { HOOK_SECRET: SECRET, ...env },
        org_id: ORG,
        created_by: users.root,
        agents: ['assistant', 'greeter'],
        holder: randomUUID(),
        workspacesDir: workspaces,
        now,
        newId: randomUUID,
        random: () => 0.001,
        // The pace itself has tests with a clock as argument; here nobody waits a second for each message.
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

/** A store that refuses some commits with an error. */
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
  (await store.listSessions({ org_id: ORG, limit: 100 })).sessions
export async function logOf(store: LogStore, sessionId: string): Promise<SessionEvent[]> {
  return (await store.read(sessionId, 0, 1000)).map(({ json }) => decodeEvent(json))
}

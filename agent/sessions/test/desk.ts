/** A store in a temporary folder and the people who use it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore, SessionRow } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import {
  decodeEvent,
  type EventDraft,
  type EventType,
  type Principal,
  type SessionEvent,
} from '@cairn/protocol'
import { createSession, type Deps } from '@cairn/sessions'

export const alice: Principal = {
  kind: 'user',
  id: 'alice',
  org_id: 'org',
  admin: false,
  name: 'Alice',
  email: 'alice@example.org',
}
export const bob: Principal = {
  kind: 'user',
  id: 'bob',
  org_id: 'org',
  admin: false,
  name: 'Bob',
  email: 'bob@example.org',
}
export const admin: Principal = {
  kind: 'user',
  id: 'root',
  org_id: 'org',
  admin: true,
  name: 'Root',
  email: 'root@example.org',
}
export const stranger: Principal = {
  kind: 'user',
  id: 'alice',
  org_id: 'elsewhere',
  admin: true,
  name: 'Alice',
  email: 'alice@example.com',
}
export const robot: Principal = {
  kind: 'service_account',
  id: 'robot',
  org_id: 'org',
  scope: 'own',
  name: 'Robot',
}
export const judge: Principal = {
  kind: 'service_account',
  id: 'judge',
  org_id: 'org',
  scope: 'org',
  name: 'Judge',
}

export const START = Date.UTC(2026, 10, 20, 20)

export type Desk = {
  deps: Deps
  store: LogStore
  clock: { now: number }
  session: SessionRow
  events(): Promise<SessionEvent[]>
  last(): Promise<SessionEvent | undefined>
  row(): Promise<SessionRow>
  /** Writes as a runner would, without its lease. */
  write(events: readonly EventDraft[], extra?: Partial<Parameters<LogStore['commit']>[0]>): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

export async function setUp(): Promise<Desk> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-sessions-'))
  const clock = { now: START }
  let ids = 0
  const store = await openStoreInProcess({ dir, now: () => clock.now })
  const deps: Deps = { store, now: () => clock.now, newId: () => `id-${++ids}` }
  const session = await createSession(deps, ['assistant'], { principal: alice })
  const events = async (): Promise<SessionEvent[]> =>
    (await store.events.read(session.id, 0, 1000)).map(({ json }) => decodeEvent(json))
  return {
    deps,
    store,
    clock,
    session,
    events,
    last: async () => (await events()).at(-1),
    async row() {
      const row = await store.sessions.get(session.id)
      if (!row) throw new Error('the session is gone')
      return row
    },
    write: async (drafts, extra = {}) =>
      (await store.commit({ session_id: session.id, events: drafts, ...extra })).last_id,
    async [Symbol.asyncDispose]() {
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** An event of another package; these tests only need it to exist. */
export const foreign = (type: EventType, data: Record<string, unknown>): EventDraft =>
  ({ type, data }) as unknown as EventDraft
export const types = (events: readonly SessionEvent[]): string[] => events.map(event => event.type)

/**
 * What every part of the suite needs: a store in its own place, a controllable clock, and events to write.
 */
import { type EventData, type EventDraft, type SessionStatus, type WorkerKind, writer } from '@cairn/protocol'
import type { Claim, Commit, CommitRefused, LogStore, NewSession, Refusal, StoredEvent } from '@cairn/log'
import { expect } from 'vitest'

/** An implementation under test. A place contains one store; opening it again finds the earlier data. */
export type Implementation = {
  /** One process owns a place, or several share it. */
  kind: 'exclusive' | 'shared'
  /** `unopened`: no store was there before. Otherwise the tables may exist, emptied. */
  makePlace(options: { unopened: boolean }): Promise<{ place: string; remove(): Promise<void> }>
  open(
    place: string,
    options: { now: () => number; monotonic: () => number; redact?: (json: string) => string },
  ): Promise<LogStore>
  /** Changes the store behind its back, as a disk or a restore does. */
  sql(place: string, text: string): Promise<void> | void
}

export type Clock = {
  now: () => number
  monotonic: () => number
  /** Advances the time. */
  advance(ms: number): void
  /** Sets the clock: dates jump, and no time passes. */
  step(ms: number): void
}
export function makeClock(start = Date.UTC(2026, 10, 21, 12)): Clock {
  let passed = 0
  let set = 0
  return {
    now: () => start + passed + set,
    monotonic: () => passed,
    advance: ms => void (passed += ms),
    step: ms => void (set += ms),
  }
}

const messages = writer('messages')
const lifecycle = writer('lifecycle')
const turn = writer('turn')
const coordination = writer('coordination')
const tools = writer('tools')
const saga = writer('saga')
const titles = writer('titles')
const where = { turn_id: 'turn_1', iteration_index: 0 }

export const say = (content: string): EventDraft => messages('user.message', { content })
export const answered = (tool_call_id: string): EventDraft =>
  messages('ask_user_question.response', {
    tool_call_id,
    responses: [{ question: 'Which?', answer: 'this' }],
  })
type Spawn = { depth?: number; kind?: WorkerKind; tool_call_id?: string; task_id?: string; attempt?: number }
export const spawned = (worker_id: string, { depth = 1, kind = 'worker', ...more }: Spawn = {}): EventDraft =>
  coordination('worker.spawned', {
    worker_id,
    goal: `reach ${worker_id}`,
    kind,
    agent: 'assistant',
    depth,
    ...more,
  })
type Outcome = Partial<
  Pick<EventData<'worker.complete'>, 'input_tokens' | 'output_tokens' | 'cost_usd' | 'task_id'>
>
export const outcome = (worker_id: string, more: Outcome = {}): EventDraft =>
  coordination('worker.complete', {
    worker_id,
    result: 'there it is',
    duration_seconds: 1,
    iterations: 1,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    files_written: [],
    ...more,
  })
export const thought = (reasoning: string): EventDraft => turn('llm.thinking', { reasoning, ...where })
export const delta = (content: string): EventDraft => turn('llm.delta', { content, ...where })
export const called = (tool_call_id: string, args: Record<string, unknown> = { path: 'a.txt' }): EventDraft =>
  tools('tool.call', { tool_call_id, name: 'read_file', arguments: args })
export const response = (
  content: string,
  usage: { input?: number; output?: number; cost?: number; unpriced?: true } = {},
  call?: { id: string; arguments: string },
): EventDraft =>
  turn('llm.response', {
    message: {
      role: 'assistant',
      content,
      ...(call && {
        tool_calls: [
          { id: call.id, type: 'function', function: { name: 'read_file', arguments: call.arguments } },
        ],
      }),
    },
    model: 'm',
    input_tokens: usage.input ?? 10,
    output_tokens: usage.output ?? 5,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 1000,
    ...(usage.cost !== undefined && { cost_usd: usage.cost }),
    ...(usage.unpriced === true && { cost_unpriced_model: 'm' }),
    ...where,
  })
export const request = (): EventDraft => turn('llm.request', { model: 'm', ...where })
export const resume = (): EventDraft<'session.resume'> => lifecycle('session.resume', { source: 'message' })
export const titled = (title: string, provisional = false): EventDraft =>
  titles('session.title_updated', { title, ...(provisional ? { provisional } : {}) })
export const pause = (): EventDraft => lifecycle('session.pause', { reason: 'user' })
export const stopped = (): EventDraft => lifecycle('session.stopped', { reason: 'archived' })
export const complete = (): EventDraft => lifecycle('session.complete', { reason: 'completed' })
export const fail = (): EventDraft =>
  lifecycle('session.fail', {
    reason: 'retries',
    error_category: 'provider_error',
    error: 'no',
    retryable: true,
  })

export const sagaStart = (saga_id: string): EventDraft =>
  saga('saga.start', { saga_id, session_id: 'any', timestamp: 1 })
export const sagaComplete = (saga_id: string): EventDraft =>
  saga('saga.complete', { saga_id, status: 'compensated', steps_executed: 0, timestamp: 1 })

export const newSession = (id: string, more: Partial<NewSession> = {}): NewSession => ({
  id,
  org_id: 'org_1',
  created_by: 'user_1',
  created_by_kind: 'user',
  agent: 'assistant',
  channel: 'web',
  ...more,
})

/** A session with one message, and the lease on it. */
export async function claimOne(
  store: LogStore,
  id: string,
  runnerId = 'worker_1',
  ttl = 60_000,
): Promise<Claim> {
  await store.sessions.create(newSession(id))
  await store.commit({ session_id: id, events: [say('go')] })
  const [claim] = await store.leases.claim(runnerId, 1, ttl)
  if (claim?.session.id !== id) throw new Error(`claimed ${claim?.session.id ?? 'nothing'}, not ${id}`)
  return claim
}

export async function refused(store: LogStore, commit: Commit, refusal: Refusal): Promise<CommitRefused> {
  const thrown: unknown = await store.commit(commit).then(
    () => null,
    (error: unknown) => error,
  )
  expect(thrown).toMatchObject({ name: 'CommitRefused', refusal })
  return thrown as CommitRefused
}

export async function readAll(store: LogStore, sessionId: string, pageSize = 1000): Promise<StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const page = await store.events.read(sessionId, all.at(-1)?.id ?? 0, pageSize)
    all.push(...page)
    if (page.length < pageSize) return all
  }
}

export const ids = (events: readonly { id: number }[]): number[] => events.map(event => event.id)
export const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)
export const statusOf = async (store: LogStore, id: string): Promise<SessionStatus | undefined> =>
  (await store.sessions.get(id))?.status

/** Resolves at the first call of the returned `call`. */
export function once(): { call: () => void; called: Promise<void>; calls: () => number } {
  const { promise, resolve } = Promise.withResolvers<void>()
  let calls = 0
  const call = (): void => {
    calls += 1
    resolve()
  }
  return { call, called: promise, calls: () => calls }
}

/** Waits for the call; the failure names who was not notified. */
export const expectTold = (who: string, { calls }: { calls: () => number }): Promise<void> =>
  expect.poll(calls, { message: `${who} is told` }).toBeGreaterThan(0)

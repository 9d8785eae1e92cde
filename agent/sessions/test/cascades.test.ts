/**
 * Commands to a session and its subtree, without a worker: a tree is created here, and its logs are checked.
 */
import type { Commit, LogStore } from '@cairn/log'
import { decodeEvent, type SessionEvent } from '@cairn/protocol'
import {
  addMessage,
  archiveSession,
  codeRunStarted,
  commitEnd,
  deadlineTimer,
  fireTimer,
  sessionCompleted,
  sessionFailed,
  openChild,
  pauseSession,
  resumeSession,
  retrySession,
  stopSession,
} from '@cairn/sessions'
import { checkHistory, checkTree } from '@cairn/verify'
import { expect, test } from 'vitest'
import { alice, type Desk, foreign, setUp } from './desk.ts'

const LEAD = 'lead'
const LEAF = 'leaf'

async function spawn(desk: Desk, parentId: string, child_id: string, depth: number): Promise<void> {
  const parent = await desk.store.sessions.get(parentId)
  if (parent === null) throw new Error(`there is no session ${parentId}`)
  const { event, row, part } = openChild(
    parent,
    {
      child_id,
      root_id: desk.session.id,
      depth,
      kind: 'worker',
      tool_call_id: 'call',
      task_id: null,
      attempt: null,
    },
    {
      goal: child_id,
      agent: 'assistant',
      role: 'orchestrator',
      max_iterations: 30,
      max_open: 8,
      max_total: 50,
    },
    `Goal: ${child_id}`,
  )
  await desk.store.commit({ session_id: parentId, events: [event], rows: [row], also: [part] })
}

/** Writes an answer of the model with this number of input tokens. */
async function answers(
  store: LogStore,
  session_id: string,
  input_tokens: number,
  guards: Pick<Commit, 'fence'> = {},
): Promise<void> {
  const answer = { turn_id: 't', model: 'm', message: { role: 'assistant', content: 'I am at it.' } }
  const usage = { input_tokens, output_tokens: 1, cost_usd: 0.1, finish_reason: 'stop' }
  await store.commit({ session_id, events: [foreign('llm.response', { ...answer, ...usage })], ...guards })
}

/** A root, its worker, and a worker of that worker. */
async function setFamily(desk: Desk): Promise<void> {
  await spawn(desk, desk.session.id, LEAD, 1)
  await spawn(desk, LEAD, LEAF, 2)
  await answers(desk.store, LEAD, 10)
  await answers(desk.store, LEAF, 5)
}

async function logsOf({ store, session }: Desk): Promise<Map<string, SessionEvent[]>> {
  const read = async (id: string): Promise<[string, SessionEvent[]]> => [
    id,
    (await store.events.read(id, 0, 1000)).map(({ json }) => decodeEvent(json)),
  ]
  return new Map([await read(session.id), await read(LEAD), await read(LEAF)])
}
const outcomesIn = (log: readonly SessionEvent[] = []) =>
  log.flatMap(event =>
    event.type === 'worker.failed' ? [{ id: event.data.worker_id, tokens: event.data.input_tokens }] : [],
  )

test.each([
  ['a stop of the root', (desk: Desk) => stopSession(desk.deps, desk.session.id)],
  ['a stop of a worker that has one of its own', (desk: Desk) => stopSession(desk.deps, LEAD)],
  ['an archive', (desk: Desk) => archiveSession(desk.deps, desk.session)],
] as const)(
  'the outcomes of %s contain the usage of the subtree, including workers that end with it',
  async (_, act) => {
    await using desk = await setUp()
    await setFamily(desk)
    await act(desk)
    const logs = await logsOf(desk)
    expect(checkTree(logs, { settled: true })).toEqual([])
    expect(outcomesIn(logs.get(desk.session.id))).toEqual([{ id: LEAD, tokens: 15 }])
    expect(outcomesIn(logs.get(LEAD))).toEqual([{ id: LEAF, tokens: 5 }])
  },
)

/** Promise 14.4: A worker's outcome counts all tokens and cost below it, including what commits meanwhile. */
test('an answer that is committed while a stop is composed counts in the outcome', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  let landed = false
  const store: LogStore = {
    ...desk.store,
    async commit(commit) {
      if (!landed) {
        landed = true
        await answers(desk.store, LEAF, 7)
      }
      return desk.store.commit(commit)
    },
  }
  await stopSession({ ...desk.deps, store }, desk.session.id)
  const logs = await logsOf(desk)
  expect(checkTree(logs, { settled: true })).toEqual([])
  expect(outcomesIn(logs.get(LEAD))).toEqual([{ id: LEAF, tokens: 12 }])
})

/** Promise 6.9: A stop completes even if the sessions below write all the time. */
test('a stop completes although a worker below writes all the time', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  const claims = await desk.store.leases.claim('worker', 10, 60_000)
  const fence = claims.find(({ session }) => session.id === LEAF)?.fence
  if (fence === undefined) throw new Error('the leaf was not claimed')
  let written = 0
  const store: LogStore = {
    ...desk.store,
    async commit(commit) {
      await answers(desk.store, LEAF, 7, { fence }).then(
        () => (written += 1),
        (error: unknown) => expect(error).toMatchObject({ refusal: 'stale_lease' }),
      )
      return desk.store.commit(commit)
    },
  }
  await stopSession({ ...desk.deps, store }, desk.session.id)
  expect(written).toBeGreaterThan(0)
  expect(checkTree(await logsOf(desk), { settled: true })).toEqual([])
})

/**
 * Promise 6.9: Retrying a paused session resumes its workers; the retry is refused while a session above is
 * paused.
 */
test('a retry of a paused session resumes its subtree, and is rejected below a paused session', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  const statusOf = async (id: string) => (await desk.store.sessions.get(id))?.status
  await pauseSession(desk.deps, desk.session.id)
  for (const goOn of [resumeSession, retrySession])
    await expect(goOn(desk.deps, LEAD)).rejects.toMatchObject({ code: 'wrong_state' })
  await retrySession(desk.deps, desk.session.id)
  expect([await statusOf(desk.session.id), await statusOf(LEAD), await statusOf(LEAF)]).toEqual([
    'active',
    'active',
    'active',
  ])
  expect((await desk.store.links.get(LEAF))?.paused_by_parent).toBe(false)
  expect(checkTree(await logsOf(desk))).toEqual([])
})

/** Promise 6.9: A resume leaves a separately paused worker, and all below it, paused. */
test('a worker that was paused by itself stays paused with its own workers when its parent resumes', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  const statuses = async () =>
    (await Promise.all([desk.session.id, LEAD, LEAF].map(id => desk.store.sessions.get(id)))).map(
      row => row?.status,
    )
  await pauseSession(desk.deps, LEAD)
  await pauseSession(desk.deps, desk.session.id)
  desk.clock.now += 1000
  await resumeSession(desk.deps, desk.session.id)
  expect(await statuses()).toEqual(['active', 'paused', 'paused'])
  await resumeSession(desk.deps, LEAD)
  expect(await statuses()).toEqual(['active', 'active', 'active'])
  expect(checkTree(await logsOf(desk))).toEqual([])
})

/** Promise 6.9: A session whose turn has ended is paused and resumed with its open workers. */
test.each([
  ['ended in order', sessionCompleted('completed', 'w'), 'completed'],
  [
    'failed',
    sessionFailed({ reason: 'r', error_category: 'internal', error: 'e', retryable: true }),
    'failed',
  ],
] as const)('a session whose turn %s is paused and resumed with all its workers', async (_, end, status) => {
  await using desk = await setUp()
  await setFamily(desk)
  await desk.write([end])
  const statuses = async () =>
    (await Promise.all([desk.session.id, LEAD, LEAF].map(id => desk.store.sessions.get(id)))).map(
      row => row?.status,
    )
  expect(await statuses()).toEqual([status, 'active', 'active'])
  expect(await pauseSession(desk.deps, desk.session.id)).toMatchObject({ status: 'paused' })
  expect(await statuses()).toEqual(['paused', 'paused', 'paused'])
  const logs = await logsOf(desk)
  for (const log of logs.values()) expect(log.at(-1)?.type).toBe('session.pause')
  // A message is stored, and the tree stays paused.
  await addMessage(desk.deps, { session_id: desk.session.id, content: 'hello', principal: alice })
  expect(await statuses()).toEqual(['paused', 'paused', 'paused'])
  expect(await desk.store.leases.claim('worker', 10, 60_000)).toEqual([])

  desk.clock.now += 1000
  await resumeSession(desk.deps, desk.session.id)
  expect(await statuses()).toEqual(['active', 'active', 'active'])
  expect(checkTree(await logsOf(desk))).toEqual([])
  for (const log of (await logsOf(desk)).values())
    expect(checkHistory(log).filter(found => found.includes('session.pause'))).toEqual([])
})

test('a session whose turn has ended cannot be paused without open workers', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  await stopSession(desk.deps, LEAD)
  await desk.write([sessionCompleted('completed', 'w')])
  await expect(pauseSession(desk.deps, desk.session.id)).rejects.toMatchObject({
    code: 'wrong_state',
    message: 'Cannot pause a session that is completed.',
  })
})

/** Promise 6.9: Stopping a paused session ends its workers and answers no message. */
test('a stop of a paused session ends its workers and leaves it paused', async () => {
  await using desk = await setUp()
  await setFamily(desk)
  await addMessage(desk.deps, { session_id: desk.session.id, content: 'hello', principal: alice })
  await pauseSession(desk.deps, desk.session.id)
  desk.clock.now += 1000
  await stopSession(desk.deps, desk.session.id)
  const links = await desk.store.links.children(desk.session.id)
  expect(links.map(({ status, cause }) => [status, cause])).toEqual([['failed', 'parent']])
  expect(await desk.row()).toMatchObject({ status: 'paused' })
  await expect(stopSession(desk.deps, desk.session.id)).rejects.toMatchObject({ code: 'wrong_state' })
  desk.clock.now += 1000
  await resumeSession(desk.deps, desk.session.id)
  // The stop did not consume the message.
  expect((await desk.store.leases.claim('worker', 10, 60_000)).map(({ session }) => session.id)).toEqual([
    desk.session.id,
  ])
  expect(checkTree(await logsOf(desk))).toEqual([])
})

/** Starts a run of a coding agent in each of these sessions. */
async function startCodeRuns(desk: Desk, ids: readonly string[]): Promise<void> {
  for (const session_id of ids) {
    const run = { run_id: `run of ${session_id}`, agent: 'agent', provider: 'p', prompt: 'do it' }
    await desk.store.commit({
      session_id,
      events: [codeRunStarted(session_id, { ...run, source_event_id: 1 })],
    })
  }
}

/** Promise 14.12: Each code.run_started has exactly one code.run_result, also in workers that are ended. */
test.each([
  [
    'reaches its time limit',
    [LEAD, LEAF],
    async (desk: Desk) => {
      desk.clock.now += 60_000
      for (const timer of await desk.store.timers.claim('w', 10, 30_000)) await fireTimer(desk.deps, timer)
    },
  ],
  [
    'fails and ends its own worker',
    [LEAF],
    async (desk: Desk) => {
      const [session, link] = await Promise.all([desk.store.sessions.get(LEAD), desk.store.links.get(LEAD)])
      if (session === null || link === null) throw new Error('the worker is missing')
      const end = { reason: 'r', error_category: 'internal', error: 'e', retryable: true } as const
      await commitEnd(desk.deps, session, link, { session_id: LEAD, events: [sessionFailed(end)] })
    },
  ],
] as const)('a worker that %s ends the coding runs in its subtree', async (_, running, end) => {
  await using desk = await setUp()
  await setFamily(desk)
  await desk.write([], { rows: [deadlineTimer({ id: LEAD, parent_id: desk.session.id }, 1)] })
  await startCodeRuns(desk, running)
  await end(desk)
  const logs = await logsOf(desk)
  for (const id of running) {
    const types = (logs.get(id) ?? []).map(({ type }) => type)
    expect(types.slice(types.indexOf('code.run_started') + 1)).toEqual([
      ...(id === LEAD ? ['worker.failed'] : []),
      'session.stopped',
      'code.run_result',
      'session.complete',
    ])
    expect(await desk.store.codeRuns.list(id, 1)).toMatchObject([{ state: 'done' }])
  }
})

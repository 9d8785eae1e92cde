/** A silent delegated child is reported; the test controls the clock. */
import type { Fence } from '@cairn/log'
import { checkHistory } from '@cairn/verify'
import {
  delegationStart,
  fireTimer,
  openChild,
  pauseSession,
  createQuestionItem,
  resumeSession,
  staleTimer,
  stopSession,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Desk, foreign, setUp } from './desk.ts'

const CHILD = 'child'
const SECOND = 1000

/** Makes a session delegate a goal, and creates its child. */
async function delegate(desk: Desk, child_id = CHILD, parent = desk.session): Promise<void> {
  const about = { child_session_id: child_id, tool_call_id: 'call', goal: 'dig', depth: 1 }
  const { event, row, part } = openChild(
    parent,
    {
      child_id,
      root_id: desk.session.id,
      depth: 1,
      kind: 'delegation',
      tool_call_id: 'call',
      task_id: null,
      attempt: null,
    },
    { goal: 'dig', agent: 'assistant', role: 'leaf', max_iterations: 30, max_open: 8, max_total: 50 },
    'Goal: dig',
  )
  const start = delegationStart({
    ...about,
    timeout_seconds: 900,
    role: 'leaf',
    agent_type: null,
    model: null,
  })
  await desk.store.commit({
    session_id: parent.id,
    events: [event, start],
    rows: [row, staleTimer(parent.id, child_id, 'call', { idle_s: 60, tool_s: 180 })],
    also: [part],
  })
}
async function claimChild({ store }: Desk): Promise<Fence> {
  const [claim] = await store.leases.claim('w', 10, 3_600_000)
  if (claim === undefined) throw new Error('nothing was claimed')
  return claim.fence
}
const childSays = ({ store }: Desk, fence: Fence, event = foreign('llm.thinking', { reasoning: 'hm' })) =>
  store.commit({ session_id: CHILD, fence, events: [event] })

/** Advances the time, and fires the timers that are due at each second. */
async function pass(desk: Desk, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    desk.clock.now += SECOND
    for (const timer of await desk.store.timers.claim('w', 10, 30_000)) await fireTimer(desk.deps, timer)
  }
}
async function told(desk: Desk): Promise<unknown[]> {
  const events = await desk.events()
  expect(checkHistory(events)).toEqual([])
  return events.flatMap(event => (event.type === 'delegation.stale' ? [event.data] : []))
}

/** Promise 14.4: Cairn reports a delegated worker that is silent too long, once per silence. */
test('a delegated child that is silent for a minute is reported once, and again after a second silence', async () => {
  await using desk = await setUp()
  await delegate(desk)
  const fence = await claimChild(desk)
  await childSays(desk, fence)
  await pass(desk, 59)
  expect(await told(desk)).toEqual([])
  await pass(desk, 1)
  expect(await told(desk)).toEqual([
    {
      child_session_id: CHILD,
      tool_call_id: 'call',
      idle_seconds: 60,
      in_tool: false,
      threshold_seconds: 60,
    },
  ])
  await pass(desk, 300)
  expect(await told(desk)).toHaveLength(1)
  await childSays(desk, fence)
  await pass(desk, 59)
  expect(await told(desk)).toHaveLength(1)
  await pass(desk, 61)
  expect(await told(desk)).toHaveLength(2)
})

test('a child in a tool may be silent for three minutes, and an event restarts its time', async () => {
  await using desk = await setUp()
  await delegate(desk)
  const fence = await claimChild(desk)
  await pass(desk, 40)
  await childSays(desk, fence, foreign('tool.call', { tool_call_id: 'a', name: 'look', arguments: {} }))
  await pass(desk, 179)
  expect(await told(desk)).toEqual([])
  await pass(desk, 61)
  expect(await told(desk)).toMatchObject([{ in_tool: true, threshold_seconds: 180 }])
})

test('a silence that ended before its timer fired is reported once', async () => {
  await using desk = await setUp()
  await delegate(desk)
  const fence = await claimChild(desk)
  await childSays(desk, fence)
  desk.clock.now += 61 * SECOND
  await childSays(desk, fence)
  await pass(desk, 2)
  expect(await told(desk)).toMatchObject([{ idle_seconds: 61, in_tool: false, threshold_seconds: 60 }])
  await pass(desk, 55)
  expect(await told(desk)).toHaveLength(1)
})

test('time spent waiting for a resume does not count as silence', async () => {
  await using desk = await setUp()
  await delegate(desk)
  await childSays(desk, await claimChild(desk))
  await pauseSession(desk.deps, CHILD)
  desk.clock.now += 600 * SECOND
  await resumeSession(desk.deps, CHILD)
  const fence = await claimChild(desk)
  await childSays(desk, fence, foreign('harness.wake', { worker_id: 'w', cursor: 0 }))
  await childSays(desk, fence)
  await pass(desk, 30)
  expect(await told(desk)).toEqual([])
})

test.each<[why: string, wait: (desk: Desk) => Promise<unknown>]>([
  ['no runner has claimed it', () => Promise.resolve()],
  ['it is paused', async desk => pauseSession(desk.deps, CHILD)],
  [
    'it waits for an answer of a person',
    async desk => {
      const fence = await claimChild(desk)
      const { event } = createQuestionItem(desk.deps, {
        tool_call_id: 'a',
        questions: [{ prompt: 'Which?' }],
      })
      await childSays(desk, fence, event)
    },
  ],
  [
    'it waits for its own child',
    async desk => {
      const fence = await claimChild(desk)
      const child = await desk.store.sessions.get(CHILD)
      if (child === null) throw new Error('there is no child')
      await delegate(desk, 'grandchild', child)
      await desk.store.commit({
        session_id: CHILD,
        fence,
        events: [],
        cursor: child.wake_id,
        release_lease: true,
      })
    },
  ],
])('a silent child is not reported while %s', async (_, wait) => {
  await using desk = await setUp()
  await delegate(desk)
  await wait(desk)
  await pass(desk, 600)
  expect(await told(desk)).toEqual([])
})

test('the end of the child removes the timer', async () => {
  await using desk = await setUp()
  await delegate(desk)
  await claimChild(desk)
  await stopSession(desk.deps, CHILD)
  desk.clock.now += 600 * SECOND
  expect(await desk.store.timers.claim('w', 10, 30_000)).toEqual([])
  expect(await told(desk)).toEqual([])
})

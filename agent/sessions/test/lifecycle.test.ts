import {
  addMessage,
  archiveSession,
  sessionCompleted,
  createSession,
  sessionFailed,
  pauseSession,
  createActionItem,
  createGateItem,
  type CreatedItem,
  createQuestionItem,
  renameSession,
  resumeSession,
  retrySession,
  stopSession,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, type Desk, setUp, types } from './desk.ts'

const working = async (desk: Desk) => {
  await addMessage(desk.deps, { session_id: desk.session.id, content: 'go', principal: alice })
  const [claim] = await desk.store.leases.claim('worker', 1, 60_000)
  if (!claim) throw new Error('nothing to claim')
  return claim
}

test.each([
  ['pause', pauseSession, 'session.pause', 'paused'],
  ['stop', stopSession, 'session.stopped', 'active'],
] as const)(
  'a %s takes the lease, so the running turn writes nothing more',
  async (_, command, type, status) => {
    await using desk = await setUp()
    const claim = await working(desk)
    const session = await command(desk.deps, desk.session.id)
    expect(session).toMatchObject({ status, lease: null })
    expect((await desk.last())?.type).toBe(type)
    await expect(
      desk.write([sessionCompleted('completed', 'worker')], { fence: claim.fence }),
    ).rejects.toMatchObject({ refusal: 'stale_lease' })
    expect((await desk.last())?.type).toBe(type)
  },
)

test('a stop discards pending work, and a pause keeps it for the resume', async () => {
  await using desk = await setUp()
  await working(desk)
  await stopSession(desk.deps, desk.session.id)
  expect(await desk.store.leases.claim('worker', 1, 60_000)).toEqual([])

  await working(desk)
  await pauseSession(desk.deps, desk.session.id)
  expect(await desk.store.leases.claim('worker', 1, 60_000)).toEqual([])
  await resumeSession(desk.deps, desk.session.id)
  expect(await desk.store.leases.claim('worker', 1, 60_000)).toHaveLength(1)
})

/** Promise 6.4: A stop writes no event if nothing runs. */
test('a stop writes no event if nothing runs and reports that, also when repeated', async () => {
  await using desk = await setUp()
  expect(await stopSession(desk.deps, desk.session.id)).toMatchObject({ status: 'active', stopped: false })
  expect(await desk.events()).toEqual([])
  await working(desk)
  expect(await stopSession(desk.deps, desk.session.id)).toMatchObject({ status: 'active', stopped: true })
  for (let again = 0; again < 2; again++)
    expect(await stopSession(desk.deps, desk.session.id)).toMatchObject({ state: 'idle', stopped: false })
  expect(types(await desk.events())).toEqual(['user.message', 'session.stopped'])
})

test('a stop cancels an open question or action, but not an approval, a proposal or a paused schedule', async () => {
  const action = { title: 't', instructions: 'i', context: '', target: null, reason: '' }
  const gate = {
    tool_name: 'terminal',
    tool_call_id: 'c',
    arguments_excerpt: '',
    deny_reason: '',
    policy_id: 'p',
  }
  const cases = [
    [desk => createGateItem(desk.deps, { ...gate, arguments_hash: 'h' }), false],
    [desk => createActionItem(desk.deps, { ...action, action_type: 'schedule_paused' }), false],
    [desk => createActionItem(desk.deps, { ...action, action_type: 'login' }), true],
    [desk => createQuestionItem(desk.deps, { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] }), true],
  ] as const satisfies readonly (readonly [(desk: Desk) => CreatedItem, boolean])[]
  for (const [raise, expected] of cases) {
    await using desk = await setUp()
    await desk.write([raise(desk).event])
    expect((await stopSession(desk.deps, desk.session.id)).stopped).toBe(expected)
    expect((await desk.row()).waiting_on === null).toBe(expected)
  }
})

test('a failed session is retried, and a paused one is retried too', async () => {
  await using desk = await setUp()
  await desk.write([sessionFailed({ reason: 'r', error_category: 'internal', error: 'e', retryable: true })])
  expect((await retrySession(desk.deps, desk.session.id)).status).toBe('active')
  expect((await desk.last())?.data).toEqual({ source: 'user_retry' })
  await pauseSession(desk.deps, desk.session.id)
  expect((await retrySession(desk.deps, desk.session.id)).status).toBe('active')
})

test('a transition from a wrong state is rejected with its state and writes nothing', async () => {
  await using desk = await setUp()
  await expect(resumeSession(desk.deps, desk.session.id)).rejects.toMatchObject({
    code: 'wrong_state',
    message: 'Cannot resume a session that is active.',
  })
  await expect(retrySession(desk.deps, desk.session.id)).rejects.toMatchObject({ code: 'wrong_state' })
  await desk.write([sessionCompleted('completed', 'w')])
  await expect(pauseSession(desk.deps, desk.session.id)).rejects.toMatchObject({
    code: 'wrong_state',
    extra: { session_status: 'completed' },
  })
  await expect(stopSession(desk.deps, desk.session.id)).rejects.toMatchObject({ code: 'wrong_state' })
  expect(types(await desk.events())).toEqual(['session.complete'])
})

test('archiving includes descendants, stops running turns, and is idempotent', async () => {
  await using desk = await setUp()
  const { org_id, created_by, created_by_kind, agent, channel } = desk.session
  const child = await desk.store.sessions.create({
    id: 'child',
    org_id,
    created_by,
    created_by_kind,
    agent,
    channel,
    parent_id: desk.session.id,
  })
  await desk.store.sessions.create({
    id: 'grandchild',
    org_id,
    created_by,
    created_by_kind,
    agent,
    channel,
    parent_id: child.id,
  })
  const claim = await working(desk)
  await archiveSession(desk.deps, desk.session)
  await archiveSession(desk.deps, await desk.row())
  for (const id of [desk.session.id, 'child', 'grandchild'])
    expect(await desk.store.sessions.get(id)).toMatchObject({ status: 'archived', lease: null })
  expect(types(await desk.events())).toEqual(['user.message', 'session.stopped'])
  await expect(
    desk.write([sessionCompleted('completed', 'worker')], { fence: claim.fence }),
  ).rejects.toMatchObject({
    refusal: 'stale_lease',
  })
})

test('an idle session is archived without an event', async () => {
  await using desk = await setUp()
  await desk.write([sessionCompleted('completed', 'w')])
  await archiveSession(desk.deps, await desk.row())
  expect(types(await desk.events())).toEqual(['session.complete'])
})

test('renaming writes an event and the title column', async () => {
  await using desk = await setUp()
  expect(await renameSession(desk.deps, desk.session.id, 'New name')).toMatchObject({ title: 'New name' })
  expect((await desk.last())?.data).toEqual({ title: 'New name' })
})

test('a session requires a known agent and valid settings', async () => {
  await using desk = await setUp()
  expect(desk.session).toMatchObject({
    agent: 'assistant',
    channel: 'web',
    status: 'active',
    created_by: 'alice',
    created_by_kind: 'user',
    last_event_id: 0,
  })
  const make = (agent: string, config: Record<string, unknown>) =>
    createSession(desk.deps, ['assistant'], { principal: alice, agent, config })
  await expect(make('nobody', {})).rejects.toMatchObject({
    code: 'unknown_agent',
    message: 'Unknown agent "nobody". Available: assistant.',
  })
  await expect(make('assistant', { colour: 'red' })).rejects.toMatchObject({ code: 'invalid_body' })
  await expect(make('assistant', { max_iterations: 0 })).rejects.toMatchObject({
    code: 'invalid_body',
    extra: { errors: [expect.objectContaining({ path: 'config.max_iterations' })] },
  })
  expect((await make('assistant', { model: 'a/b', max_iterations: 5 })).config).toEqual({
    model: 'a/b',
    max_iterations: 5,
  })
})

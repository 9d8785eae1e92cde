/** Contract 4: guarantees for generated clients, checked on every route. */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { createGateItem, createQuestionItem } from '@cairn/sessions'
import { afterAll, expect, test } from 'vitest'
import { openapiDocument } from '../src/index.ts'
import { startService } from './service.ts'
import { spawn } from './spawn.ts'

/** Each test creates its own sessions. */
const service = await startService()
afterAll(() => service[Symbol.asyncDispose]())

const turn = writer('turn')
const post = (path: string, body?: unknown) =>
  service.call(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
const OPERATIONS = Object.entries(openapiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)
const inPath = (path: string, id = 'none'): string => path.replaceAll(/\{\w+\}/g, id)
const listing = OPERATIONS.filter(
  ({ path, operation }) =>
    !path.startsWith('/v1/api/') && (operation.parameters ?? []).some(({ name }) => name === 'cursor'),
).map(({ path }) => inPath(path))

test('at least seven listings are checked for their cursors', () => {
  expect(listing.length).toBeGreaterThanOrEqual(7)
})

/** Promise 4.20: A listing rejects a cursor that it did not issue. */
test.each(listing)('%s rejects a cursor that it did not issue', async path => {
  const query = path.startsWith('/v1/search') ? 'q=x&' : ''
  for (const cursor of ['garbage', 'zzz', '1', '1.abc', '~', '1~1', '%20', 'x'.repeat(5000)]) {
    const { status, json } = await service.call(`${path}?${query}cursor=${cursor}`)
    expect([cursor, status, json.code]).toEqual([cursor, 400, 'invalid_cursor'])
  }
})

test('a cursor continues after its page; damaged cursors and those of other listings are rejected', async () => {
  const { token } = await service.addUser()
  const asUser = { token }
  const made = [
    await service.newSession(token),
    await service.newSession(token),
    await service.newSession(token),
  ]
  const first = (await service.call('/v1/sessions?limit=2', asUser)).json
  const next = (await service.call(`/v1/sessions?limit=2&cursor=${first.next_cursor}`, asUser)).json
  expect([...first.sessions, ...next.sessions].map(({ id }) => id)).toEqual(made.toReversed())
  const damaged = `1${first.next_cursor}`
  for (const path of [`/v1/sessions?cursor=${damaged}`, `/v1/inbox?cursor=${first.next_cursor}`])
    expect((await service.call(path, asUser)).json.code).toBe('invalid_cursor')
})

/** Promise 4.20: HEAD returns the status of GET. */
test.each(OPERATIONS.filter(({ method }) => method === 'get').map(({ path }) => inPath(path)))(
  'HEAD %s returns the status of GET and no body',
  async path => {
    // A stream has no end, so only its status is compared.
    if (path.endsWith('/stream'))
      return expect((await service.call(path, { method: 'HEAD' })).status).toBe(200)
    const [get, head] = await Promise.all([service.call(path), service.call(path, { method: 'HEAD' })])
    expect([head.status, head.text]).toEqual([get.status, ''])
  },
)

test('a trailing slash in a path changes nothing', async () => {
  const id = await service.newSession()
  expect((await service.call('/v1/sessions/')).status).toBe(200)
  expect((await service.call(`/v1/sessions/${id}/`)).json.id).toBe(id)
})

/** Promise 4.20: A body with only optional keys may be absent, and every route rejects unknown keys. */
test('a body with only optional keys may be absent, and unknown keys are rejected', async () => {
  const id = await service.newSession()
  const rubric = { type: 'text', content: 'it is done' }
  const mission = (await post('/v1/missions', { session_id: id, description: 'all of it', rubric })).json
  const at = `/v1/missions/${mission.mission_id}`
  for (const action of ['pause', 'resume', 'cancel']) expect((await post(`${at}/${action}`)).status).toBe(200)

  const session = await service.newSession()
  const unknown = await post(`/v1/sessions/${session}/pause`, { why: 'x' })
  expect([unknown.status, unknown.json.code]).toEqual([422, 'invalid_body'])
  expect((await post(`/v1/sessions/${session}/pause`, {})).status).toBe(200)
  const raw = { method: 'POST', raw: '{}', headers: { 'content-type': 'text/plain' } }
  expect((await service.call(`/v1/sessions/${session}/resume`, raw)).status).toBe(415)
})

test('the OpenAPI document states which bodies may be absent', () => {
  const required = (path: string) => openapiDocument().paths[path]?.['post']?.requestBody?.required
  expect(required('/v1/missions/{mission_id}/pause')).toBe(false)
  expect(required('/v1/sessions/{id}/messages')).toBe(true)
})

/** Promise 14.5: A worker session accepts no mission, schedule or goal. */
test('a worker rejects a mission, a schedule and a goal with the same status and code', async () => {
  const id = await spawn(service, await service.newSession(), 'work')
  const rubric = { type: 'text', content: 'it is done' }
  const refusals = await Promise.all([
    post('/v1/missions', { session_id: id, description: 'all', rubric }),
    post('/v1/schedules', { session_id: id, prompt: 'look', every_s: 3600 }),
    post(`/v1/sessions/${id}/events`, {
      events: [{ type: 'user.define_outcome', description: 'all', rubric }],
    }),
  ])
  expect(refusals.map(({ status, json }) => [status, json.code])).toEqual(
    refusals.map(() => [409, 'wrong_state']),
  )
  for (const { json } of refusals) expect(json.detail).toContain('a session without a parent')
})

test('the goal of a session is returned with its state and verdicts', async () => {
  const id = await service.newSession()
  const at = `/v1/sessions/${id}/goal`
  expect((await service.call(at)).json).toEqual({ goal: null })
  const rubric = { type: 'text', content: 'it compiles' }
  const goal = { type: 'user.define_outcome', description: 'ship it', rubric, max_iterations: 3 }
  const [defined] = (await post(`/v1/sessions/${id}/events`, { events: [goal] })).json.events
  expect((await service.call(at)).json.goal).toEqual({
    outcome_id: defined.outcome_id,
    description: 'ship it',
    rubric,
    max_iterations: 3,
    status: 'active',
    started_at: expect.any(String),
    iteration: 0,
    evaluating: false,
    spent: { tokens: 0, cost_usd: 0 },
    verdicts: [],
  })
  const { token } = await service.addUser()
  expect((await service.call(at, { token })).status).toBe(404)
})

test('inbox items are filtered by kind and by event type', async () => {
  const session_id = await service.newSession()
  const gate = {
    tool_name: 'terminal',
    tool_call_id: 'c',
    arguments_excerpt: '{}',
    deny_reason: 'asks',
    policy_id: 'p',
  }
  const ids = { newId: randomUUID }
  await service.store.commit({
    session_id,
    events: [
      createGateItem(ids, { ...gate, arguments_hash: 'h' }).event,
      createQuestionItem(ids, { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] }).event,
    ],
  })
  const kinds = async (kind: string): Promise<string[]> =>
    (await service.call(`/v1/inbox?session_id=${session_id}&kind=${kind}`)).json.items.map(
      (item: { kind: string }) => item.kind,
    )
  expect(await kinds('governance_gate')).toEqual(['governance_gate'])
  expect(await kinds('inbox.governance_gate')).toEqual(['governance_gate'])
  expect(await kinds('inbox.governance_gate,input_required')).toEqual(['input_required', 'governance_gate'])
  expect((await service.call('/v1/inbox?kind=inbox.nothing')).status).toBe(400)
})

/** Promise 4.7: A question can also be answered through its inbox item. */
test('a question is answered through its inbox item, and a rejection there names the answer route', async () => {
  const session_id = await service.newSession()
  const { event, item_id } = createQuestionItem(
    { newId: randomUUID },
    { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] },
  )
  await service.store.commit({ session_id, events: [event] })
  const at = `/v1/inbox/${item_id}/respond`
  const refused = await post(at, { decision: 'approve' })
  expect(refused.status).toBe(422)
  expect(refused.json.detail).toContain(`/v1/sessions/${session_id}/questions/q/respond`)
  const answer = { responses: [{ question: 'Which?', answer: 'left' }] }
  expect((await post(at, answer)).json).toMatchObject({ status: 'responded', decision: 'answered' })
  expect((await post(at, answer)).json.code).toBe('already_answered')
})

test('a scheduled run has the same position in its record, in the tree and among the children', async () => {
  const session_id = await service.newSession()
  const { schedule_id, id = schedule_id } = (
    await post('/v1/schedules', { session_id, prompt: 'look', every_s: 3600 })
  ).json
  await post(`/v1/schedules/${id}/run`)
  const [child] = (await service.call(`/v1/sessions/${session_id}/children`)).json.children
  const record = (await service.call(`/v1/sessions/${child.id}`)).json
  const place = { parent_id: session_id, root_id: child.id, depth: 0 }
  expect(record).toMatchObject(place)
  expect(child).toMatchObject(place)
  const { nodes } = (await service.call(`/v1/sessions/${session_id}/tree`)).json
  expect(nodes.find((node: { id: string }) => node.id === child.id)).toMatchObject(place)
})

test('a stop reports whether it stopped a turn, and writes nothing if none runs', async () => {
  const id = await service.newSession()
  expect((await post(`/v1/sessions/${id}/stop`)).json).toMatchObject({ stopped: false, last_event_id: 0 })
  await service.say(id, 'go')
  expect((await post(`/v1/sessions/${id}/stop`)).json).toMatchObject({ stopped: true, last_event_id: 2 })
  expect((await post(`/v1/sessions/${id}/stop`)).json).toMatchObject({ stopped: false, last_event_id: 2 })
})

/** Promise 14.7: Accepting the disclosure twice writes one event. */
test('accepting the disclosure again writes no second event', async () => {
  const id = await service.newSession()
  for (let again = 0; again < 3; again++)
    expect((await post(`/v1/sessions/${id}/confirm-disclosure`)).status).toBe(204)
  expect((await service.store.events.read(id, 0, 10)).map(({ type }) => type)).toEqual([
    'disclosure.confirmed',
  ])
})

/** Promise 4.8: A command's reply cannot be rated. */
test('the reply to a command cannot be rated', async () => {
  const id = await service.newSession()
  const message = { role: 'assistant' as const, content: 'No turn is running.' }
  const none = {
    input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    context_window: 0,
  }
  const reply = { message, model: 'cairn/command', finish_reason: 'command', ...none }
  await service.store.commit({ session_id: id, events: [turn('llm.response', reply)] })
  const refused = await post(`/v1/sessions/${id}/events/1/feedback`, { rating: 'up' })
  expect([refused.status, refused.json.code]).toEqual([422, 'wrong_target'])
  expect(refused.json.detail).toContain('server reply to a command')
})

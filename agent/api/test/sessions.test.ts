/** Contract 4, 6: sessions over HTTP, from creation to archive. */
import { writer } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { spawn } from './spawn.ts'
import { startService, type Service } from './service.ts'

const post = (service: Service, path: string, body?: unknown) =>
  service.call(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
const types = async (service: Service, id: string) =>
  (await service.store.events.read(id, 0, 100)).map(({ type }) => type)

/** Promise 6.4: A message's response contains the message's own id, also for `/stop`. */
test('/stop returns the id of its message like every message, and the stop event follows it', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.say(id, 'go')
  const { status, json } = await service.call(`/v1/sessions/${id}/messages`, {
    method: 'POST',
    body: { content: '/stop' },
  })
  const events = await service.store.events.read(id, 0, 10)
  expect(events.map(({ type }) => type)).toEqual(['user.message', 'user.message', 'session.stopped'])
  expect([status, json]).toEqual([202, { event_id: events[1]?.id, session_id: id, taken_as: 'message' }])
})

test('a session has exactly the documented fields', async () => {
  await using service = await startService()
  const { status, json } = await post(service, '/v1/sessions', { title: 'First', channel: 'api' })
  expect(status).toBe(201)
  expect(Object.keys(json).toSorted()).toEqual([
    'agent',
    'channel',
    'children_cost_usd',
    'cost_usd',
    'created_at',
    'created_by',
    'depth',
    'id',
    'input_tokens',
    'last_event_id',
    'message_count',
    'model',
    'open_children',
    'output_tokens',
    'parent_id',
    'root_id',
    'state',
    'status',
    'title',
    'tool_call_count',
    'unpriced',
    'updated_at',
    'waiting_on',
  ])
  expect(json).toMatchObject({
    agent: 'assistant',
    channel: 'api',
    status: 'active',
    title: 'First',
    created_by: service.admin.id,
    last_event_id: 0,
  })
})

test('pause, resume, stop and rename each write their event, and a wrong state returns 409', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const at = `/v1/sessions/${id}`
  expect((await post(service, `${at}/resume`)).json.code).toBe('wrong_state')
  expect((await post(service, `${at}/pause`)).json.status).toBe('paused')
  expect((await post(service, `${at}/pause`)).status).toBe(409)
  expect((await post(service, `${at}/stop`)).status).toBe(409)
  expect((await post(service, `${at}/resume`)).json.status).toBe('active')
  expect((await post(service, `${at}/stop`)).json.status).toBe('active')
  expect((await service.call(at, { method: 'PATCH', body: { title: ' New ' } })).json.title).toBe('New')
  expect(await types(service, id)).toEqual([
    'session.pause',
    'session.resume',
    'session.stopped',
    'session.title_updated',
  ])
  expect((await service.call(at, { method: 'DELETE' })).status).toBe(204)
  expect((await service.call(at)).json.status).toBe('archived')
  expect((await post(service, `${at}/messages`, { content: 'x' })).json).toMatchObject({
    code: 'wrong_state',
    session_status: 'archived',
  })
})

test('sessions are listed newest first in pages, and archived ones only on request', async () => {
  await using service = await startService()
  const made: string[] = []
  for (let n = 0; n < 5; n++) made.unshift(await service.newSession())
  await service.call(`/v1/sessions/${made[1]}`, { method: 'DELETE' })
  const first = (await service.call('/v1/sessions?limit=2')).json
  const second = (await service.call(`/v1/sessions?limit=2&cursor=${first.next_cursor}`)).json
  expect([...first.sessions, ...second.sessions].map(({ id }: { id: string }) => id)).toEqual([
    made[0],
    made[2],
    made[3],
    made[4],
  ])
  expect(second.next_cursor).toBeNull()
  expect(
    (await service.call('/v1/sessions?status=archived,failed')).json.sessions.map(
      ({ id }: { id: string }) => id,
    ),
  ).toEqual([made[1]])
})

test('a goal over HTTP is clamped and stored, and a batch of events is atomic', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const goal = {
    type: 'user.define_outcome',
    description: 'ship it',
    rubric: { type: 'text', content: 'it runs' },
    max_iterations: 99,
  }
  const { status, json } = await post(service, `/v1/sessions/${id}/events`, { events: [goal] })
  expect(status).toBe(202)
  expect(json.events).toMatchObject([{ type: 'user.define_outcome', event_id: 1 }])
  const [record] = await service.store.events.read(id, 0, 1)
  expect(JSON.parse(record?.json ?? '').data).toMatchObject({
    description: 'ship it',
    max_iterations: 20,
    outcome_id: json.events[0].outcome_id,
  })
  expect(
    (await post(service, `/v1/sessions/${id}/events`, { events: [goal, { type: 'outcome.defined' }] }))
      .status,
  ).toBe(422)
  expect((await types(service, id)).filter(type => type === 'user.define_outcome')).toHaveLength(1)
  const second = await post(service, `/v1/sessions/${id}/events`, { events: [goal] })
  expect([second.status, second.json.code]).toEqual([409, 'wrong_state'])
  expect(second.json.detail).toContain('/goal clear')
})

test('a candidate text for a skill is validated, and other metadata is stored unchanged', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const send = (metadata: Record<string, unknown>) =>
    post(service, `/v1/sessions/${id}/messages`, { content: '/review x', metadata })
  const override = { source: 'rollout', skillopt_run_id: 'run-1', candidate_id: 'c-7', body: 'Look closely.' }
  expect((await send({ skill_override: { ...override, body: '' } })).status).toBe(422)
  expect((await send({ skill_override: { source: 'rollout' } })).status).toBe(422)
  expect((await send({ skill_override: override, mine: 1 })).status).toBe(202)
  const [record] = await service.store.events.read(id, 0, 1)
  expect(JSON.parse(record?.json ?? '').data.metadata).toEqual({ skill_override: override, mine: 1 })
})

test('a user or a judge can rate an answer, and other events cannot be rated', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.say(id, 'hello')
  const write = writer('turn')
  await service.store.commit({
    session_id: id,
    events: [
      write('llm.response', {
        message: { role: 'assistant', content: 'hi' },
        model: 'm',
        input_tokens: 1,
        output_tokens: 1,
        reasoning_tokens: 0,
        cache_read_tokens: 0,
        finish_reason: 'stop',
        context_window: 1,
      }),
    ],
  })
  const rated = await post(service, `/v1/sessions/${id}/events/2/feedback`, { rating: 'up', score: 0.5 })
  expect([rated.status, rated.json]).toEqual([
    201,
    { event_id: 3, event_type: 'user.feedback', source: 'user' },
  ])
  const { token } = await service.addServiceAccount({ scope: 'org' })
  const judged = await service.call(`/v1/api/sessions/${id}/events/2/feedback`, {
    method: 'POST',
    token,
    body: { rating: 'down' },
  })
  expect(judged.json.source).toBe('judge')
  expect((await post(service, `/v1/sessions/${id}/events/1/feedback`, { rating: 'up' })).json.code).toBe(
    'wrong_target',
  )
  for (const target of ['9', '0', '-1', 'x', '1e1'])
    expect(
      (await post(service, `/v1/sessions/${id}/events/${target}/feedback`, { rating: 'up' })).json.code,
    ).toBe(target === '9' ? 'not_found' : 'invalid_cursor')
})

const shape = (nodes: { id: string; depth: number }[]) => nodes.map(({ id, depth }) => [id, depth])

test('every member returns the whole tree, and the children come from their parent', async () => {
  await using service = await startService()
  const root = await service.newSession()
  const first = await spawn(service, root, 'first')
  const second = await spawn(service, root, 'second')
  const grand = await spawn(service, first, 'grand')
  for (const id of [root, grand, second])
    expect(shape((await service.call(`/v1/sessions/${id}/tree`)).json.nodes)).toEqual([
      [root, 0],
      [first, 1],
      [grand, 2],
      [second, 1],
    ])
  expect(shape((await service.call(`/v1/sessions/${root}/children`)).json.children)).toEqual([
    [first, 1],
    [second, 1],
  ])
  expect(shape((await service.call(`/v1/sessions/${first}/children`)).json.children)).toEqual([[grand, 2]])
})

test('artifacts are listed with metadata and fetched one by one, and a user confirms the disclosure', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.store.commit({
    session_id: id,
    events: [],
    rows: [
      {
        do: 'artifact.add',
        artifact: { artifact_id: 'a1', name: 'n', kind: 'markdown', version: 1, size: 2 },
        spec: { kind: 'markdown', content: '# x' },
      },
    ],
  })
  expect((await service.call(`/v1/sessions/${id}/artifacts`)).json.artifacts).toMatchObject([
    { artifact_id: 'a1', session_id: id },
  ])
  expect((await service.call(`/v1/sessions/${id}/artifacts/a1`)).json.spec).toEqual({
    kind: 'markdown',
    content: '# x',
  })
  expect((await service.call(`/v1/sessions/${id}/artifacts/a2`)).status).toBe(404)
  expect((await post(service, `/v1/sessions/${id}/confirm-disclosure`)).status).toBe(204)
  expect(await types(service, id)).toEqual(['disclosure.confirmed'])
})

/**
 * Promise 4.21: A client cannot create a session that appears to come from a platform, a parent or a
 * schedule.
 */
test('a client cannot use a channel name that is reserved for the service', async () => {
  await using service = await startService()
  const create = (channel: string) => post(service, '/v1/sessions', { channel })
  for (const channel of ['web', 'cli', 'acp', 'api', 'my-client_2'])
    expect(await create(channel)).toMatchObject({ status: 201, json: { channel } })
  const reserved = 'webhook slack telegram whatsapp website email discord worker scheduled'.split(' ')
  for (const channel of reserved) {
    const { status, json } = await create(channel)
    expect([status, json.errors]).toEqual([
      422,
      [{ path: 'channel', message: `"${channel}" is reserved for sessions that the service creates itself` }],
    ])
  }
  for (const channel of ['', 'Slack', 'slack ', 'slаck', 'a'.repeat(65), 'slack\n'])
    expect((await create(channel)).status).toBe(422)
})

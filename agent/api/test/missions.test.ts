/** Contract 14.5: the mission routes. The tests of the harness cover rounds and verdicts. */
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'

const post = (service: Service, path: string, body: unknown, headers: Record<string, string> = {}) =>
  service.call(path, { method: 'POST', body, headers })
const rubric = { type: 'text', content: 'There is a report.' }
const asked = { description: 'Write the report', rubric }

test('a mission without a session creates one, and a repeated key creates it once', async () => {
  await using service = await startService()
  const key = { 'idempotency-key': 'one-mission' }
  const made = await post(service, '/v1/missions', { ...asked, max_iterations: 99 }, key)
  expect(made.status).toBe(201)
  expect(made.json).toMatchObject({
    kind: 'mission',
    status: 'active',
    description: 'Write the report',
    rubric: 'There is a report.',
    iteration: 0,
    max_iterations: 20,
    budget: null,
    verdicts: [],
    open_children: 0,
    evaluating: false,
    session_status: 'active',
  })
  expect((await post(service, '/v1/missions', { ...asked, max_iterations: 99 }, key)).json).toEqual(made.json)
  const session = await service.call(`/v1/sessions/${made.json.session_id}`)
  expect(session.json.title).toBe('Write the report')
  const { json } = await service.call('/v1/missions?status=active')
  expect(json.missions.map((each: { mission_id: string }) => each.mission_id)).toEqual([made.json.mission_id])
  expect((await service.call('/v1/missions?status=failed')).json.missions).toEqual([])
  for (const part of ['tasks', 'workers'])
    expect((await service.call(`/v1/missions/${made.json.mission_id}/${part}`)).json[part]).toEqual([])
})

test('a mission is paused, resumed with a note and cancelled, and each event names the user', async () => {
  await using service = await startService()
  const session_id = await service.newSession()
  const { json } = await post(service, '/v1/missions', { ...asked, session_id })
  const act = (what: string, body: object) => post(service, `/v1/missions/${json.mission_id}/${what}`, body)
  expect((await act('pause', { reason: 'lunch' })).json).toMatchObject({ status: 'paused', reason: 'lunch' })
  expect((await act('resume', { note: 'after lunch' })).json).toMatchObject({
    status: 'active',
    reason: null,
  })
  expect((await act('cancel', {})).json).toMatchObject({ status: 'cancelled' })
  const { json: poll } = await service.call(`/v1/sessions/${session_id}/events/poll`)
  const steered = poll.events.filter((event: { type: string }) =>
    ['mission.paused', 'mission.resumed', 'mission.cancelled'].includes(event.type),
  )
  expect(steered.map((event: { data: object }) => event.data)).toEqual([
    { mission_id: json.mission_id, reason: 'lunch', principal_user_id: service.admin.id },
    { mission_id: json.mission_id, principal_user_id: service.admin.id },
    {
      mission_id: json.mission_id,
      reason: null,
      cascade_to_workers: true,
      principal_user_id: service.admin.id,
    },
  ])
  // The next mission may start.
  expect((await post(service, '/v1/missions', { ...asked, session_id })).status).toBe(201)
})

/** Promise 4.7: An impossible mission request returns a problem document with the fix and changes nothing. */
test('an impossible mission request returns a problem document with the fix and changes nothing', async () => {
  await using service = await startService()
  const session_id = await service.newSession()
  const refused = async (body: unknown): Promise<[number, string, string]> => {
    const { status, json } = await post(service, '/v1/missions', body)
    return [status, json.code, json.detail]
  }
  expect(await refused({ description: 'd', session_id })).toEqual([
    422,
    'invalid_body',
    expect.stringContaining('rubric'),
  ])
  expect((await refused({ ...asked, rubric: { type: 'text' }, session_id }))[2]).toContain('rubric.content')
  expect((await refused({ ...asked, description: ' ', session_id }))[2]).toContain('must not be blank')
  expect((await refused({ ...asked, session_id, budget: { max_tokens: 0 } }))[2]).toContain(
    'budget.max_tokens',
  )
  expect((await refused({ ...asked, session_id, max_iterations: 0 }))[2]).toContain('max_iterations')
  expect(await refused({ ...asked, session_id, agent: 'assistant' })).toEqual([
    422,
    'invalid_body',
    expect.stringContaining('send either session_id or agent'),
  ])
  expect(await refused({ ...asked, agent: 'nobody' })).toEqual([
    422,
    'unknown_agent',
    expect.stringContaining('assistant'),
  ])
  expect((await refused({ ...asked, session_id: 'nowhere' })).slice(0, 2)).toEqual([404, 'not_found'])
  expect(await refused({ ...asked, session_id, budget: { max_cost_usd: 1 } })).toEqual([
    422,
    'invalid_body',
    expect.stringContaining('has no price'),
  ])
  expect((await service.call('/v1/missions')).json.missions).toEqual([])

  const { json } = await post(service, '/v1/missions', { ...asked, session_id })
  expect(await refused({ ...asked, session_id })).toEqual([
    409,
    'wrong_state',
    expect.stringContaining('Cancel it first'),
  ])
  const goal = await post(service, `/v1/sessions/${session_id}/events`, {
    events: [{ type: 'user.define_outcome', description: 'd', rubric }],
  })
  expect([goal.status, goal.json.code]).toEqual([409, 'wrong_state'])
  const act = async (what: string, body: object = {}): Promise<unknown[]> => {
    const answer = await post(service, `/v1/missions/${json.mission_id}/${what}`, body)
    return [answer.status, answer.json.code, answer.json.detail, answer.json.mission_status]
  }
  expect(await act('resume')).toEqual([
    409,
    'wrong_state',
    'Cannot resume a mission that is active: it must be paused or blocked.',
    'active',
  ])
  await act('cancel', { reason: 'no longer' })
  for (const what of ['pause', 'resume', 'cancel'])
    expect((await act(what)).slice(0, 2)).toEqual([409, 'wrong_state'])
  expect((await service.call('/v1/missions?status=lost')).status).toBe(400)
  expect((await service.call('/v1/missions/none')).status).toBe(404)
})

test('a budget in USD is rejected if the evaluator model has no price', async () => {
  await using service = await startService({
    config: {
      models: { default: 'demo/model', catalog: { 'demo/model': { input: 1, output: 1 } } },
      agents: { assistant: { missions: { evaluator_model: 'demo/other' } } },
    },
  })
  const { status, json } = await post(service, '/v1/missions', { ...asked, budget: { max_cost_usd: 1 } })
  expect([status, json.detail]).toEqual([422, expect.stringContaining('model demo/other has no price')])
})

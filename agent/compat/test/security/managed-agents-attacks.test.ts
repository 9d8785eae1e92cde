/** Attacks on Claude Managed Agents: other tenants, missing rights, forged ids, what Cairn has not. */
import { randomUUID } from 'node:crypto'
import { type Service } from '@cairn/api/test/service'
import { expect, test } from 'vitest'
import { addGate, answerOf, startCompat, tallyRequests } from '../stage.ts'

tallyRequests('Claude Managed Agents')

const BASE = '/compat/anthropic/v1'
type Init = Parameters<Service['call']>[1]
const said = (text: string) => ({ type: 'user.message', content: [{ type: 'text', text }] })
const confirmation = (gate: number, result = 'allow') => ({
  type: 'user.tool_confirmation',
  tool_use_id: `sevt_${gate}`,
  result,
})

const create = async ({ call }: Service, init: Init = {}): Promise<string> => {
  const body = { agent: 'agent_assistant', environment_id: 'env_default' }
  const { json } = await call(`${BASE}/sessions`, { method: 'POST', body, ...init })
  return String(json.id)
}
const send = ({ call }: Service, id: string, events: unknown[], init: Init = {}) =>
  call(`${BASE}/sessions/${id}/events`, { method: 'POST', body: { events }, ...init })

/** A session of the administrator with an open approval, and everybody else. */
async function start(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat(config)
  const id = await create(service)
  expect((await send(service, id, [said('hello')])).status).toBe(200)
  const session = id.slice('sesn_'.length)
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  return { service, id, session, gate, others: { colleague, stranger, robot } }
}

/** The answer must not show that the id exists. */
test('each route answers an id of another person like an unknown id: not found', async () => {
  const { service, id, session, gate, others } = await start()
  await using _ = service
  const unknown = `sesn_${randomUUID()}`
  const paths = (of: string) =>
    [
      ['GET', `/sessions/${of}`],
      ['POST', `/sessions/${of}`, { title: 'mine' }],
      ['DELETE', `/sessions/${of}`],
      ['POST', `/sessions/${of}/archive`],
      ['GET', `/sessions/${of}/events`],
      ['GET', `/sessions/${of}/events/stream`],
      ['GET', `/sessions/${of}/resources`],
      ['GET', `/sessions/${of}/threads`],
      ['POST', `/sessions/${of}/events`, { events: [said('x')] }],
      ['POST', `/sessions/${of}/events`, { events: [{ type: 'user.interrupt' }] }],
      ['POST', `/sessions/${of}/events`, { events: [confirmation(gate)] }],
      ['POST', `/sessions/${of}/events`, { events: [{ type: 'system.message' }] }],
    ] as const
  for (const token of Object.values(others)) {
    for (const [at, [method, path, body]] of paths(id).entries()) {
      const foreign = await service.call(BASE + path, { method, token, ...(body ? { body } : {}) })
      const [, other = '', otherBody] = paths(unknown)[at] ?? []
      const missing = await service.call(BASE + other, {
        method,
        token,
        ...(otherBody ? { body: otherBody } : {}),
      })
      expect([path, foreign.status, foreign.json.error.type]).toEqual([path, 404, 'not_found_error'])
      expect(answerOf(foreign)).toBe(answerOf(missing).replaceAll(unknown, id))
    }
    const listed = await service.call(`${BASE}/sessions?include_archived=true`, { token })
    expect(listed.json.data).toEqual([])
  }
  expect((await service.store.sessions.get(session))?.title).toBeNull()
  const messages = await service.store.events.read(session, 0, 100, ['user.message'])
  expect(messages).toHaveLength(1)
})

test('nobody else decides an approval, and a number of another session is not one', async () => {
  const { service, gate, others } = await start()
  await using _ = service
  for (const token of Object.values(others)) {
    const own = await create(service, { token })
    await send(service, own, [said('x')], { token })
    for (const number of [gate, 1, 999]) {
      const { status, json } = await send(service, own, [confirmation(number)], { token })
      expect([status, json.error.type]).toEqual([404, 'not_found_error'])
    }
  }
  for (const forged of ['sevt_1e3', 'sevt_-1', 'apr_2', `sevt_${gate}x`, '']) {
    const event = { type: 'user.tool_confirmation', tool_use_id: forged, result: 'allow' }
    const id = await create(service)
    expect((await send(service, id, [event])).status).toBe(404)
  }
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 10 })).items
  expect(item?.status).toBe('pending')
})

test('an approval is decided once: the same decision again changes nothing, the other one is refused', async () => {
  const { service, id, session, gate } = await start()
  await using _ = service
  const decide = (result: string) => send(service, id, [confirmation(gate, result)])
  const first = await decide('allow')
  expect(first.status).toBe(200)
  expect((await decide('allow')).json.data[0].id).toBe(first.json.data[0].id)
  expect((await decide('deny')).status).toBe(409)
  const decisions = await service.store.events.read(session, gate, 10, ['user.message'])
  expect(decisions).toHaveLength(1)
})

test('a service account decides only if the configuration allows it', async () => {
  const { service, id, gate } = await start({ governance: { service_accounts_decide: false } })
  await using _ = service
  const { token } = await service.addServiceAccount({ scope: 'org' })
  const { status, json } = await send(service, id, [confirmation(gate)], { token })
  expect([status, json.error.type]).toEqual([403, 'permission_error'])
})

/** Promise 4.24: What Claude Managed Agents has and Cairn has not is refused by name. */
test('what the API has and Cairn has not is refused by name', async () => {
  const { service, id } = await start({ agents: { coder: {} } })
  await using _ = service
  const session = { agent: 'agent_assistant', environment_id: 'env_default' }
  const refused = async (path: string, body: unknown, name: string, method = 'POST') => {
    const { status, json } = await service.call(BASE + path, { method, body })
    expect([json.error?.message, status]).toEqual([expect.stringContaining(name), status])
    expect([400, 404]).toContain(status)
  }
  for (const [name, value] of Object.entries({
    resources: [{ type: 'file', file_id: 'f' }],
    vault_ids: ['vlt_1'],
    metadata: { team: 'x' },
    budget: { type: 'limit', max_list_cost: { amount: '100', currency: 'USD' } },
    something_new: 1,
  }))
    await refused('/sessions', { ...session, [name]: value }, name)
  await refused(
    '/sessions',
    { ...session, agent: { type: 'agent_with_overrides', id: 'agent_coder' } },
    'overrides',
  )
  await refused(
    '/sessions',
    { ...session, agent: { type: 'agent', id: 'agent_coder', version: 1 } },
    'version',
  )
  await refused('/sessions', { ...session, agent: 'agent_nobody' }, 'agent_nobody')
  await refused('/sessions', { ...session, environment_id: 'env_other' }, 'env_other')
  await refused('/sessions', { ...session, initial_events: [{ type: 'user.interrupt' }] }, 'user.interrupt')
  await refused(`/sessions/${id}`, { metadata: { a: 'b' } }, 'metadata')
  await refused(`/sessions/${id}`, undefined, 'delete', 'DELETE')
  await refused('/agents', { name: 'x', model: 'y' }, 'agents')
  await refused('/environments', { name: 'x' }, 'environments')
  for (const name of [
    'vaults',
    'memory_stores',
    'files',
    'skills',
    'deployments',
    'dreams',
    'tunnels',
    'messages',
  ])
    await refused(`/${name}`, {}, name)
  for (const name of ['resources', 'threads'])
    await refused(`/sessions/${id}/${name}`, undefined, name, 'GET')
  for (const [event, name] of [
    [{ type: 'system.message', content: [] }, 'system.message'],
    [{ type: 'user.tool_result', tool_use_id: 'x' }, 'user.tool_result'],
    [{ type: 'user.dance' }, 'user.dance'],
    [{ type: 'user.interrupt', session_thread_id: 'sthr_1' }, 'session_thread_id'],
    [{ ...said('x'), content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }, 'image'],
    [
      { ...said('x'), content: [{ type: 'document', source: { type: 'url', url: 'https://x' } }] },
      'document',
    ],
    [said('/goal win'), '/goal'],
    [{ type: 'user.define_outcome', description: 'x', rubric: { type: 'file', file_id: 'f' } }, 'rubric'],
  ] as const) {
    const { status, json } = await send(service, id, [event])
    expect([json.error?.message, status < 500]).toEqual([expect.stringContaining(name), true])
    expect(status).not.toBe(200)
  }
  const several = await send(service, id, [said('one'), said('two')])
  expect([several.status, several.json.error.message]).toEqual([400, expect.stringContaining('several')])
})

test('all events of a request are checked before the first is written', async () => {
  const { service, id, session } = await start()
  await using _ = service
  const before = (await service.store.sessions.get(session))?.last_event_id
  const { status } = await send(service, id, [said('first'), confirmation(1)])
  expect(status).toBe(404)
  expect((await service.store.sessions.get(session))?.last_event_id).toBe(before)
})

test('pages and positions are checked, and a page of types is the filtered whole', async () => {
  const { service, id } = await start()
  await using _ = service
  const list = (query: string) => service.call(`${BASE}/sessions/${id}/events?${query}`)
  for (const query of ['limit=0', 'limit=9999', 'order=up', 'page=x', 'created_at[gte]=never'])
    expect([query, (await list(query)).status]).toEqual([query, 400])
  const all = (await list('')).json.data as { type: string }[]
  const some = (await list('types[]=user.message&types[]=agent.tool_use')).json.data
  expect(some).toEqual(all.filter(({ type }) => ['user.message', 'agent.tool_use'].includes(type)))
  expect((await list('order=desc')).json.data).toEqual(all.toReversed())
  const pages: unknown[] = []
  for (let page: string | null = '0'; page !== null;) {
    const { json } = await list(`limit=1&page=${page}`)
    pages.push(...json.data)
    page = json.next_page
  }
  expect(pages).toEqual(all)
  for (const after of ['-1', '1.5', 'x', '99999999999999999999']) {
    const answer = await service.call(`${BASE}/sessions/${id}/events/stream?after=${after}`)
    expect(answer.status).toBe(400)
  }
  expect(
    (await service.call(`${BASE}/sessions/${id}/events/stream?event_deltas=agent.tool_use`)).status,
  ).toBe(400)
})

test('errors before the route have the shape of the API too', async () => {
  const { service } = await start()
  await using _ = service
  const none = await service.call(`${BASE}/agents`, { token: null })
  expect([none.status, none.json.type, none.json.error.type]).toEqual([401, 'error', 'authentication_error'])
  const key = await service.call(`${BASE}/agents`, {
    token: null,
    headers: { 'x-api-key': service.adminToken },
  })
  expect(key.status).toBe(200)
  const large = await service.call(`${BASE}/sessions`, { method: 'POST', raw: ' '.repeat(5 * 1024 * 1024) })
  expect([large.status, large.json.error.type]).toEqual([413, 'request_too_large'])
  const broken = await service.call(`${BASE}/sessions`, { method: 'POST', raw: '{' })
  expect([broken.status, broken.json.error.type]).toEqual([400, 'invalid_request_error'])
  expect(broken.headers.get('x-should-retry')).toBe('false')
  for (const [method, path] of [
    ['PUT', '/sessions'],
    ['GET', '/sessions/a/b/c'],
    ['GET', '/nothing'],
  ] as const)
    expect((await service.call(BASE + path, { method })).status).toBe(404)
})

/** Attacks on the routes of AG-UI: other tenants, missing rights, forged interrupts, what Cairn has not. */
import { randomUUID } from 'node:crypto'
import { type Service } from '@cairn/api/test/service'
import { expect, test } from 'vitest'
import { addGate, answerOf, startCompat, tallyRequests } from '../stage.ts'

tallyRequests('AG-UI')

const BASE = '/compat/ag-ui/assistant'
const said = (content: string, id: string = randomUUID()) => ({ id, role: 'user', content })
const decision = (gate: number, approved = true, more: object = {}) => ({
  interruptId: `apr_${gate}`,
  status: 'resolved',
  payload: { approved, ...more },
})

/** Runs an agent and reads the beginning of the answer; the run itself waits for a runner. */
async function run(
  { url }: Service,
  token: string | null,
  threadId: string,
  body: object,
  base = BASE,
): Promise<{ status: number; text: string; code: string | undefined }> {
  const leave = new AbortController()
  const response = await fetch(url + base, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ threadId, runId: randomUUID(), ...body }),
    signal: leave.signal,
  })
  if (response.status !== 200) {
    const text = await response.text()
    return { status: response.status, text, code: (JSON.parse(text) as { code?: string }).code }
  }
  const first = await response.body?.getReader().read()
  leave.abort()
  return { status: 200, text: new TextDecoder().decode(first?.value), code: undefined }
}

const sessionOf = async ({ store, admin }: Service): Promise<string> =>
  (await store.sessions.list({ org_id: admin.org_id, limit: 10 })).sessions[0]?.id ?? ''

/** A thread of the administrator with an open approval, and everybody else. */
async function start(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat(config)
  const thread = 'my-thread'
  expect((await run(service, service.adminToken, thread, { messages: [said('hello', 'm1')] })).status).toBe(
    200,
  )
  const session = await sessionOf(service)
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  return { service, thread, session, gate, others: { colleague, stranger, robot } }
}

test('each route answers a thread of another person like an unknown one', async () => {
  const { service, session, others } = await start()
  await using _ = service
  for (const token of Object.values(others))
    for (const [method, tail] of [
      ['GET', ''],
      ['DELETE', '/run'],
    ] as const) {
      const ask = async (id: string) =>
        answerOf(await service.call(`${BASE}/threads/${id}${tail}`, { method, token }))
      expect(await ask(session)).toBe(await ask(randomUUID()))
      expect((await service.call(`${BASE}/threads/${session}${tail}`, { method, token })).status).toBe(404)
    }
})

test('the name of a thread is of its person, and nobody else decides an approval', async () => {
  const { service, thread, session, gate, others } = await start()
  await using _ = service
  for (const token of Object.values(others))
    for (const id of [thread, session, randomUUID()]) {
      const forged = await run(service, token, id, { resume: [decision(gate)] })
      expect([forged.status, forged.code]).toEqual([404, 'not_found'])
      expect((await run(service, token, id, { messages: [said('mine')] })).status).toBe(200)
      // In a thread of their own the number is that of another event, or of none.
      const again = await run(service, token, id, { resume: [decision(gate)] })
      expect([again.status, again.code]).toEqual([404, 'not_found'])
    }
  const events = await service.store.events.read(session, 0, 100, ['user.message'])
  expect(events).toHaveLength(1)
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 10 })).items
  expect(item?.status).toBe('pending')
})

test('an approval is decided once, about what was shown', async () => {
  const { service, thread, session, gate } = await start()
  await using _ = service
  const decide = (approved: boolean, more: object = {}) =>
    run(service, service.adminToken, thread, { resume: [decision(gate, approved, more)] })
  expect((await decide(true, { shown_hash: 'another' })).code).toBe('not_what_was_shown')
  expect((await decide(true, { shown_hash: 'hash' })).status).toBe(200)
  expect((await decide(true)).status).toBe(200)
  expect((await decide(false)).code).toBe('already_answered')
  const decisions = await service.store.events.read(session, gate, 10, ['user.message'])
  expect(decisions).toHaveLength(1)
})

test('a service account decides only if the configuration allows it', async () => {
  const { service, session, gate } = await start({ governance: { service_accounts_decide: false } })
  await using _ = service
  const { token } = await service.addServiceAccount({ scope: 'org' })
  const { status, code } = await run(service, token, session, { resume: [decision(gate)] })
  expect([status, code]).toEqual([403, 'people_decide'])
})

test('forged interrupts and payloads without a decision are refused', async () => {
  const { service, thread, gate } = await start()
  await using _ = service
  const resume = (entry: object) => run(service, service.adminToken, thread, { resume: [entry] })
  for (const interruptId of ['apr_1', 'apr_999', 'apr_1e3', 'ask_1', `ask_${gate}`, '', 'x'])
    expect((await resume({ ...decision(gate), interruptId })).code).toBe('not_found')
  for (const payload of [null, true, 'yes', {}, { approved: 'yes' }])
    expect((await resume({ ...decision(gate), payload })).code).toBe('invalid_body')
  expect((await resume({ ...decision(gate), status: 'maybe' })).code).toBe('invalid_body')
})

/** Promise 4.24: What AG-UI has and Cairn has not is refused by name. */
test('what the protocol has and Cairn has not is refused by name, or reported as ignored', async () => {
  const service = await startCompat({ agents: { coder: {} } })
  await using _ = service
  const send = (more: object, thread = 't') =>
    run(service, service.adminToken, thread, { messages: [said('x', 'm1')], ...more })
  for (const [field, value] of Object.entries({
    tools: [{ name: 'page_tool', description: '', parameters: {} }],
    parentRunId: 'r0',
    protocolVersion: '2.0',
    surprise: 1,
  })) {
    const { status, text } = await send({ [field]: value })
    expect([status >= 400, text]).toEqual([true, expect.stringContaining(field)])
  }
  expect(await service.store.sessions.list({ org_id: service.admin.org_id, limit: 1 })).toMatchObject({
    sessions: [],
  })
  for (const [content, code] of [
    [[{ type: 'audio', source: { type: 'data', value: '', mimeType: 'audio/mp3' } }], 'unsupported'],
    [[{ type: 'image', source: { type: 'url', value: 'https://example.com/x.png' } }], 'unsupported'],
    ['/stop', 'bad_request'],
    ['', 'invalid_body'],
  ] as const)
    expect([(await send({ messages: [{ ...said(''), content }] })).code, content]).toEqual([code, content])
  expect((await send({ protocolVersion: '1.0', state: { plan: [] }, tools: [], context: [] })).status).toBe(
    200,
  )
  const coder = await run(service, service.adminToken, 't', { messages: [] }, '/compat/ag-ui/coder')
  expect(coder.code).toBe('unsupported')
  expect((await run(service, service.adminToken, 't', {}, '/compat/ag-ui/nobody')).status).toBe(404)
})

test('a history that differs from the log is refused, and a repeated message is sent once', async () => {
  const { service, thread, session } = await start()
  await using _ = service
  const send = (messages: unknown[]) => run(service, service.adminToken, thread, { messages })
  expect((await send([said('hello', 'm1')])).status).toBe(200)
  for (const messages of [[said('edited', 'm1')], [said('unknown', 'm0'), said('three', 'm3')]])
    expect((await send(messages)).code).toBe('history_differs')
  expect(await service.store.events.read(session, 0, 100, ['user.message'])).toHaveLength(1)
  expect((await send([])).status).toBe(200)
})

test('each route needs credentials, and broken requests are refused with the problem document', async () => {
  const { service, thread } = await start()
  await using _ = service
  for (const token of [null, 'wrong', 'cairn_sa_wrong']) {
    expect((await run(service, token, thread, { messages: [said('x')] })).status).toBe(401)
    expect((await service.call(`${BASE}/threads/${thread}`, { token })).status).toBe(401)
  }
  const cookie = { cookie: 'cairn_session=anything' }
  const stop = await service.call(`${BASE}/threads/${thread}/run`, {
    method: 'DELETE',
    token: null,
    headers: cookie,
  })
  expect([stop.status, stop.json.code]).toEqual([403, 'csrf'])
  for (const [raw, code] of [
    ['{', 'bad_request'],
    ['{}', 'invalid_body'],
    ['['.repeat(70) + ']'.repeat(70), 'bad_request'],
    [' '.repeat(5 * 1024 * 1024), 'body_too_large'],
  ] as const)
    expect((await service.call(BASE, { method: 'POST', raw })).json.code).toBe(code)
  for (const [method, path, code] of [
    ['GET', BASE, 'method_not_allowed'],
    ['POST', `${BASE}/threads/x`, 'method_not_allowed'],
    ['GET', `${BASE}/threads`, 'not_found'],
    ['GET', `${BASE}/threads/a/run/b`, 'not_found'],
    ['GET', `${BASE}/threads/%E0%A4%A`, 'bad_request'],
  ] as const)
    expect((await service.call(path, { method })).json.code).toBe(code)
})

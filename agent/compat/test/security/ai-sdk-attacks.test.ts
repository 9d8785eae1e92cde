/** Attacks on the routes of the AI SDK: other tenants, missing rights, forged messages, broken bodies. */
import { randomUUID } from 'node:crypto'
import { type Service } from '@cairn/api/test/service'
import { expect, test } from 'vitest'
import { addGate, answerOf, startCompat, tallyRequests } from '../stage.ts'

tallyRequests('AI SDK')

const CHAT = '/compat/ai-sdk/chat'
type Parts = Record<string, unknown>[]
const said = (text: string, id: string = randomUUID()) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
})
const answered = (id: string, parts: Parts) => ({ id, role: 'assistant', parts })
const approval = (gate: number, approved = true, more: object = {}) => ({
  type: 'dynamic-tool',
  toolName: 'terminal',
  toolCallId: 'call-1',
  state: 'approval-responded',
  providerExecuted: true,
  approval: { id: `apr_${gate}`, approved, ...more },
})

/** Sends messages and reads the beginning of the answer; the stream itself waits for a runner. */
async function post(
  { url }: Service,
  token: string | null,
  id: string,
  messages: unknown[],
  more: object = {},
): Promise<{ status: number; text: string; json: { code?: string } }> {
  const leave = new AbortController()
  const response = await fetch(url + CHAT, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ id, messages, trigger: 'submit-message', ...more }),
    signal: leave.signal,
  })
  if (response.status !== 200) {
    const text = await response.text()
    return { status: response.status, text, json: JSON.parse(text) as { code?: string } }
  }
  const first = await response.body?.getReader().read()
  leave.abort()
  return { status: 200, text: new TextDecoder().decode(first?.value), json: {} }
}

const sessionOf = async ({ store, admin }: Service): Promise<string> =>
  (await store.sessions.list({ org_id: admin.org_id, limit: 10 })).sessions[0]?.id ?? ''

/** A chat of the administrator with an open approval, and everybody else. */
async function start(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat(config)
  const chat = 'my-chat'
  expect((await post(service, service.adminToken, chat, [said('hello')])).status).toBe(200)
  const session = await sessionOf(service)
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  return { service, chat, session, gate, others: { colleague, stranger, robot } }
}

const READS = [
  ['GET', ''],
  ['GET', '/stream'],
  ['DELETE', '/stream'],
] as const

/** Promise 4.24: Through a compatible API, a session of another person is as one that does not exist. */
test('each route answers an id of another person like an unknown id', async () => {
  const { service, session, others } = await start()
  await using _ = service
  for (const token of Object.values(others))
    for (const [method, path] of READS) {
      const ask = async (id: string) =>
        answerOf(await service.call(`${CHAT}/${id}${path}`, { method, token }))
      expect(await ask(session)).toBe(await ask(randomUUID()))
    }
})

test('the name of a chat is of its person: the same name of another is another chat', async () => {
  const { service, chat, session, others } = await start()
  await using _ = service
  for (const token of Object.values(others)) {
    expect((await post(service, token, chat, [said('mine')])).status).toBe(200)
    expect((await post(service, token, session, [said('mine')])).status).toBe(200)
  }
  const events = await service.store.events.read(session, 0, 100, ['user.message'])
  expect(events).toHaveLength(1)
})

test('nobody else decides an approval, by its number or in a chat of the same name', async () => {
  const { service, chat, session, gate, others } = await start()
  await using _ = service
  for (const token of Object.values(others))
    for (const id of [chat, session, randomUUID()]) {
      const forged = answered('a1', [approval(gate)])
      expect((await post(service, token, id, [forged])).json.code).toBe('history_differs')
    }
  // In a chat of their own the number is that of another event, or of none.
  for (const token of Object.values(others)) {
    await post(service, token, 'own', [said('x')])
    const { status, json } = await post(service, token, 'own', [answered('a1', [approval(gate)])])
    expect([status, json.code]).toEqual([404, 'not_found'])
  }
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 10 })).items
  expect(item?.status).toBe('pending')
})

test('an approval is decided once: the same decision again changes nothing, the other one is refused', async () => {
  const { service, chat, session, gate } = await start()
  await using _ = service
  const decide = (approved: boolean, more: object = {}) =>
    post(service, service.adminToken, chat, [answered('a1', [approval(gate, approved, more)])])
  const wrong = await decide(true, { descriptor: { shown_hash: 'another' } })
  expect(wrong.json.code).toBe('not_what_was_shown')
  expect((await decide(true, { descriptor: { shown_hash: 'hash' } })).status).toBe(200)
  expect((await decide(true)).status).toBe(200)
  expect((await decide(false)).json.code).toBe('already_answered')
  expect(await service.store.grants.find(session, 'terminal', 'h')).not.toBeNull()
  const decisions = await service.store.events.read(session, gate, 10, ['user.message'])
  expect(decisions).toHaveLength(1)
})

test('an approval of an event that is none, and output of an unknown tool, are refused', async () => {
  const { service, chat } = await start()
  await using _ = service
  const send = (part: Record<string, unknown>) =>
    post(service, service.adminToken, chat, [answered('a1', [part])])
  for (const gate of [1, 999]) expect((await send(approval(gate))).json.code).toBe('not_found')
  expect((await send({ ...approval(1), approval: { id: 'apr_1e3', approved: true } })).json.code).toBe(
    'not_found',
  )
  const output = { type: 'tool-browser', toolCallId: 'c', state: 'output-available', output: 1 }
  expect((await send(output)).json.code).toBe('unsupported')
  expect((await send({ ...approval(1), approval: null })).json.code).toBe('invalid_body')
})

test('a service account decides only if the configuration allows it', async () => {
  const service = await startCompat({ governance: { service_accounts_decide: false } })
  await using _ = service
  const { token } = await service.addServiceAccount()
  expect((await post(service, token, 'chat', [said('hi')])).status).toBe(200)
  const gate = await addGate(service, await sessionOf(service))
  const { status, json } = await post(service, token, 'chat', [answered('a1', [approval(gate)])])
  expect([status, json.code]).toEqual([403, 'people_decide'])
})

test('each route needs credentials, and the cookie needs the header against other sites', async () => {
  const { service, chat } = await start()
  await using _ = service
  for (const token of [null, 'wrong', 'cairn_sa_wrong']) {
    expect((await post(service, token, chat, [said('x')])).status).toBe(401)
    for (const [method, path] of READS)
      expect((await service.call(`${CHAT}/${chat}${path}`, { method, token })).status).toBe(401)
  }
  const key = await service.call(`${CHAT}/${chat}`, {
    token: null,
    headers: { 'x-api-key': service.adminToken },
  })
  expect(key.status).toBe(200)
  const cookie = { cookie: 'cairn_session=anything' }
  const { status, json } = await service.call(`${CHAT}/${chat}/stream`, {
    method: 'DELETE',
    token: null,
    headers: cookie,
  })
  expect([status, json.code]).toEqual([403, 'csrf'])
})

test('only pages of the listed origins may call from a browser', async () => {
  const service = await startCompat({ compat: { origins: ['https://app.example.com'] } })
  await using _ = service
  const preflight = async (origin: string) => {
    const { status, headers } = await service.call(`${CHAT}/x`, {
      method: 'OPTIONS',
      token: null,
      headers: { origin },
    })
    return [
      status,
      headers.get('access-control-allow-origin'),
      headers.get('access-control-allow-credentials'),
    ]
  }
  expect(await preflight('https://app.example.com')).toEqual([204, 'https://app.example.com', null])
  expect(await preflight('https://evil.example.com')).toEqual([204, null, null])
})

test('a history that differs from the log is refused, and a repeated message is sent once', async () => {
  const service = await startCompat()
  await using _ = service
  const send = (messages: unknown[], more: object = {}) =>
    post(service, service.adminToken, 'chat', messages, more)
  const first = said('one', 'm1')
  expect((await send([first])).status).toBe(200)
  expect((await send([first])).status).toBe(200)
  const session = await sessionOf(service)
  const stopped = async () =>
    expect((await service.call(`/v1/sessions/${session}/stop`, { method: 'POST' })).status).toBe(200)
  await stopped()
  expect((await send([first, said('two', 'm2')])).status).toBe(200)
  await stopped()
  expect((await service.store.events.read(session, 0, 100, ['user.message'])).length).toBe(2)
  for (const [messages, code] of [
    [[said('edited', 'm1')], 'history_differs'],
    [[first], 'history_differs'],
    [[first, said('three', 'm3')], 'history_differs'],
    [[said('unknown', 'm0'), said('three', 'm3')], 'history_differs'],
    [[answered('a99', [])], 'history_differs'],
    [[{ id: 's', role: 'system', parts: [] }], 'unsupported'],
    [[said('/stop')], 'bad_request'],
    [[said('')], 'invalid_body'],
    [
      [{ id: 'f', role: 'user', parts: [{ type: 'file', mediaType: 'application/pdf', url: 'https://x' }] }],
      'unsupported',
    ],
    [[], 'invalid_body'],
  ] as const)
    expect([(await send([...messages])).json.code, messages]).toEqual([code, messages])
  expect((await send([said('x')], { trigger: 'regenerate-message' })).json.code).toBe('unsupported')
  expect((await send([said('x')], { agent: 'nobody', id: 'new' })).json.code).toBe('unknown_agent')
  expect((await service.store.events.read(session, 0, 100, ['user.message'])).length).toBe(2)
})

test('broken bodies are refused with the problem document', async () => {
  const service = await startCompat()
  await using _ = service
  const send = (raw: string | Uint8Array) =>
    service.call(CHAT, { method: 'POST', raw, headers: { 'content-type': 'application/json' } })
  for (const [raw, code] of [
    ['{', 'bad_request'],
    [new Uint8Array([0xff, 0xfe]), 'bad_request'],
    ['['.repeat(70) + ']'.repeat(70), 'bad_request'],
    ['{}', 'invalid_body'],
    ['[]', 'invalid_body'],
    [`{"id":"","messages":[{"id":"a","role":"user","parts":[{"type":"text","text":"x"}]}]}`, 'invalid_body'],
    [' '.repeat(5 * 1024 * 1024), 'body_too_large'],
  ] as const)
    expect((await send(raw)).json.code).toBe(code)
  for (const path of [
    '/compat/ai-sdk/',
    '/compat/ai-sdk/chat/a/b',
    '/compat/ai-sdk/chat/a/stream/c',
    '/compat/ai-sdk/chat/%E0%A4%A',
  ])
    expect([400, 404]).toContain((await service.call(path)).status)
  expect((await service.call(`${CHAT}/x`, { method: 'PUT' })).json.code).toBe('method_not_allowed')
})

test('a person confirms the disclosure before the first message, if the operator requires it', async () => {
  const service = await startCompat({ disclosure: { level: 'basic', require_confirm: true } })
  await using _ = service
  const { json } = await post(service, service.adminToken, 'chat', [said('hi')])
  expect(json.code).toBe('disclosure_required')
  const session = await sessionOf(service)
  expect(await service.store.events.read(session, 0, 10)).toEqual([])
  await service.call(`/v1/sessions/${session}/confirm-disclosure`, { method: 'POST' })
  expect((await post(service, service.adminToken, 'chat', [said('hi')])).status).toBe(200)
})

/** Attacks on the OpenAI API, through its own client: other tenants, missing rights, bad requests. */
import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { type Service } from '@cairn/api/test/service'
import { expect, test } from 'vitest'
import { addGate, answerOf, startCompat, tallyRequests } from '../stage.ts'

tallyRequests('OpenAI')

const BASE = '/compat/openai/v1'
const clientOf = ({ url }: Service, apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${url}${BASE}`, maxRetries: 0 })

/** A conversation of the administrator with an open approval, and everybody else. */
async function start(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat(config)
  const openai = clientOf(service, service.adminToken)
  const response = await openai.responses.create({ model: 'assistant', input: 'hello', background: true })
  const conversation = response.conversation?.id ?? ''
  const session = response.id.split('_')[1] ?? ''
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  return { service, openai, response, conversation, session, gate, others: { colleague, stranger, robot } }
}

/** The answer must not show that the id exists. */
test('each route answers an id of another person like an unknown id: not found', async () => {
  const { service, response, conversation, session, others } = await start()
  await using _ = service
  const unknown = randomUUID()
  const swap = (text: string): string =>
    text.replaceAll(unknown, session).replaceAll(unknown.replaceAll('-', ''), session.replaceAll('-', ''))
  const paths = (id: string) => {
    const hex = id.replaceAll('-', '')
    const item = `/responses/resp_${id}_1`
    return [
      ['GET', item],
      ['GET', `${item}?stream=true`],
      ['DELETE', item],
      ['POST', `${item}/cancel`],
      ['GET', `${item}/input_items`],
      ['GET', `/conversations/conv_${hex}`],
      ['POST', `/conversations/conv_${hex}`],
      ['DELETE', `/conversations/conv_${hex}`],
      ['GET', `/conversations/conv_${hex}/items`],
      ['POST', `/conversations/conv_${hex}/items`],
      ['GET', `/conversations/conv_${hex}/items/msg_1`],
      ['POST', '/responses', { model: 'assistant', input: 'x', conversation: `conv_${hex}` }],
      ['POST', '/responses', { model: 'assistant', input: 'x', previous_response_id: `resp_${id}_1` }],
    ] as const
  }
  expect([response.id, conversation]).toEqual([`resp_${session}_1`, `conv_${session.replaceAll('-', '')}`])
  for (const token of Object.values(others))
    for (const [at, [method, path, body]] of paths(session).entries()) {
      const foreign = await service.call(BASE + path, { method, token, ...(body ? { body } : {}) })
      const [, other = '', otherBody] = paths(unknown)[at] ?? []
      const missing = await service.call(BASE + other, {
        method,
        token,
        ...(otherBody ? { body: otherBody } : {}),
      })
      expect([foreign.status, foreign.json.error.type]).toEqual([404, 'invalid_request_error'])
      expect(answerOf(foreign)).toBe(swap(answerOf(missing)))
    }
  const { events } = service.store
  expect((await events.read(session, 0, 100, ['user.message'])).length).toBe(1)
})

test('nobody else decides an approval, and a number of another conversation is not one', async () => {
  const { service, conversation, gate, others } = await start()
  await using _ = service
  const decide = (token: string, place: object) =>
    clientOf(service, token).responses.create({
      ...place,
      input: [{ type: 'mcp_approval_response', approval_request_id: `apr_${gate}`, approve: true }],
    })
  for (const token of Object.values(others)) {
    await expect(decide(token, { conversation })).rejects.toMatchObject({ status: 404 })
    const own = await clientOf(service, token).responses.create({
      model: 'assistant',
      input: 'x',
      background: true,
    })
    await expect(decide(token, { conversation: own.conversation?.id })).rejects.toMatchObject({ status: 404 })
    await expect(decide(token, {})).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter' })
  }
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 10 })).items
  expect(item?.status).toBe('pending')
})

test('an approval is decided once, and a service account decides only if it may', async () => {
  const { service, openai, conversation, gate } = await start({
    governance: { service_accounts_decide: false },
  })
  await using _ = service
  const decide = (client: OpenAI, place: string, approve: boolean) =>
    client.responses.create({
      conversation: place,
      background: true,
      input: [{ type: 'mcp_approval_response', approval_request_id: `apr_${gate}`, approve }],
    })
  const { token } = await service.addServiceAccount({ scope: 'org' })
  const refused = decide(clientOf(service, token), conversation, true)
  await expect(refused).rejects.toMatchObject({ status: 403, code: 'people_decide' })
  const first = await decide(openai, conversation, false)
  expect((await decide(openai, conversation, false)).id).toBe(first.id)
  await expect(decide(openai, conversation, true)).rejects.toMatchObject({
    status: 409,
    code: 'already_answered',
  })
})

/** Promise 4.24: A parameter of OpenAI's API that Cairn does not have is refused by name. */
test('what the API has and Cairn has not is refused by name', async () => {
  const { service, openai, response, conversation } = await start()
  await using _ = service
  const create = (body: object) =>
    openai.responses.create({ model: 'assistant', input: 'x', background: true, ...body })
  for (const [param, value] of Object.entries({
    tools: [{ type: 'web_search' }],
    tool_choice: 'required',
    text: { format: { type: 'json_object' } },
    top_logprobs: 3,
    top_p: 0.5,
    include: ['reasoning.encrypted_content'],
    prompt: { id: 'p' },
    truncation: 'auto',
    store: false,
    max_tool_calls: 3,
    reasoning: { effort: 'high' },
    something_new: 1,
  }))
    await expect(create({ [param]: value })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param,
    })
  for (const [param, value] of Object.entries({ instructions: 'x', temperature: 0.1, max_output_tokens: 5 }))
    await expect(create({ conversation, [param]: value })).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    })
  for (const input of [
    [{ role: 'assistant', content: 'x' }],
    [{ role: 'system', content: 'x' }],
    [{ type: 'reasoning', id: 'r', summary: [] }],
    [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }],
    [
      {
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://example.com/x.png', detail: 'auto' }],
      },
    ],
  ])
    await expect(create({ input })).rejects.toMatchObject({ code: 'unsupported_parameter', param: 'input' })
  await expect(create({ model: 'gpt-5' })).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  await expect(create({ input: '/goal win' })).rejects.toMatchObject({ status: 400 })
  await expect(openai.responses.delete(response.id)).rejects.toMatchObject({ code: 'unsupported_parameter' })
  await expect(openai.conversations.create({ metadata: { topic: 'x' } })).rejects.toMatchObject({
    param: 'metadata.topic',
  })
  await expect(openai.chat.completions.create({ model: 'a', messages: [] })).rejects.toMatchObject({
    code: 'unknown_url',
  })
  const parallel = await create({
    user: 'u',
    service_tier: 'auto',
    tools: [],
    tool_choice: 'auto',
    store: true,
    top_p: 1,
  })
  expect(parallel.status).toBe('in_progress')
})

test('a forged continuation, a branch and a bad position are refused', async () => {
  const { service, openai, response, conversation, session } = await start()
  await using _ = service
  for (const id of [
    'resp_x',
    `resp_${session}_2`,
    `resp_${session}_999`,
    `resp_${session}_01`,
    'resp_%2e%2e_1',
  ])
    await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
  const stop = () => openai.responses.cancel(response.id)
  expect((await stop()).status).toBe('cancelled')
  expect((await stop()).status).toBe('cancelled')
  await openai.responses.create({ conversation, input: 'two', background: true })
  await expect(
    openai.responses.create({ previous_response_id: response.id, input: 'branch' }),
  ).rejects.toMatchObject({ param: 'previous_response_id' })
  for (const after of ['-1', '1.5', 'x', '99999999999999999999'])
    expect(
      (await service.call(`${BASE}/responses/${response.id}?stream=true&starting_after=${after}`)).status,
    ).toBe(400)
  for (const query of ['limit=0', 'limit=101', 'order=up', 'after=msg_77'])
    expect((await service.call(`${BASE}/conversations/${conversation}/items?${query}`)).status).toBe(400)
})

test('errors before the route have the shape of the API too', async () => {
  const { service } = await start()
  await using _ = service
  const none = await service.call(`${BASE}/models`, { token: null })
  expect([none.status, none.json.error.type]).toEqual([401, 'authentication_error'])
  const large = await service.call(`${BASE}/responses`, { method: 'POST', raw: ' '.repeat(5 * 1024 * 1024) })
  expect([large.status, large.json.error.code]).toEqual([413, 'body_too_large'])
  const broken = await service.call(`${BASE}/responses`, { method: 'POST', raw: '{' })
  expect([broken.status, broken.json.error.message]).toEqual([400, 'Invalid request body: not valid JSON.'])
  expect(broken.headers.get('x-should-retry')).toBe('false')
})

test('models are the agents, and a conversation is archived by its deletion', async () => {
  const { service, openai } = await start({ agents: { coder: {} } })
  await using _ = service
  expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['assistant', 'coder'])
  expect((await openai.models.retrieve('coder')).owned_by).toBe('cairn')
  const { id } = await openai.conversations.create({ metadata: { agent: 'coder' } })
  expect((await openai.conversations.retrieve(id)).metadata).toEqual({ agent: 'coder' })
  await expect(
    openai.responses.create({ conversation: id, model: 'assistant', input: 'x' }),
  ).rejects.toMatchObject({ param: 'model' })
  expect((await openai.conversations.delete(id)).deleted).toBe(true)
  await expect(openai.responses.create({ conversation: id, input: 'x' })).rejects.toMatchObject({
    status: 409,
  })
})

test('a request with the same Idempotency-Key sends one message, and another one is refused', async () => {
  const { service, openai } = await start()
  await using _ = service
  const create = (input: string, key: string) =>
    openai.responses.create(
      { model: 'assistant', input, background: true },
      { headers: { 'idempotency-key': key } },
    )
  const first = await create('once', 'key-1')
  expect((await create('once', 'key-1')).id).toBe(first.id)
  expect((await create('once', 'key-2')).id).not.toBe(first.id)
  await expect(create('other', 'key-1')).rejects.toMatchObject({ status: 422, code: 'idempotency_mismatch' })
  const { token } = await service.addUser()
  const other = clientOf(service, token).responses.create(
    { model: 'assistant', input: 'once', background: true },
    { headers: { 'idempotency-key': 'key-1' } },
  )
  expect((await other).id).not.toBe(first.id)
})

/** Attacks on the MCP server: other tenants, approvals, missing rights, answers of others. */
import { randomUUID } from 'node:crypto'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { callTool, legacy, MCP_PATH, modern, type Request, send } from '../mcp/mcp-requests.ts'
import { startAttacked, stays } from '../mcp/mcp-stage.ts'
import { answerOf } from '../stage.ts'

/** The answer must not show that the id exists. */
test('each tool and method answers an id of another person like an unknown id', async () => {
  const { service, taskId, session, gate, item, others } = await startAttacked()
  await using _ = service
  const unknown = randomUUID()
  const approve = { [`apr_${gate}`]: { action: 'accept', content: { decision: 'approve' } } }
  const requests = (session_id: string, item_id: string): Request[] => {
    const task = { taskId: `task_${session_id}_1` }
    const calls: [string, Record<string, unknown>][] = [
      ['send_message', { session_id, message: 'x' }],
      ['wait', { session_id, seconds: 0 }],
      ['read_session', { session_id }],
      ['stop', { session_id }],
      ['answer', { item_id, note: 'x' }],
      ['decide', { item_id, approve: true }],
    ]
    return [
      ...calls.flatMap(([name, args]) => [
        modern('tools/call', { name, arguments: args }),
        legacy('tools/call', { name, arguments: args }),
      ]),
      modern('tasks/get', task),
      modern('tasks/update', { ...task, inputResponses: approve }),
      modern('tasks/cancel', task),
    ]
  }
  expect(taskId).toBe(`task_${session}_1`)
  let tried = 0
  for (const token of Object.values(others))
    for (const [at, request] of requests(session, item).entries()) {
      const foreign = await send(service, token, request)
      const missing = await send(service, token, requests(unknown, unknown)[at] as Request)
      expect(foreign.text).toMatch(/not found|Unknown task/)
      const shown = answerOf(missing).replaceAll(unknown, session)
      expect(answerOf(foreign).replaceAll(item, session)).toBe(shown)
      tried += 1
    }
  for (const token of Object.values(others)) {
    const listening = await send(
      service,
      token,
      modern('subscriptions/listen', { notifications: { taskIds: [taskId, `task_${unknown}_1`] } }),
    )
    expect(listening.text).toContain('"notifications":{"taskIds":[]}')
    expect(listening.text).not.toContain(session)
    tried += 1
  }
  for (const token of Object.values(others)) {
    const listed = await callTool(service, token, 'list_sessions', {})
    const found = await callTool(service, token, 'search', { q: 'hello' })
    expect([listed, found].map(({ content }) => content[0]?.text.includes(session))).toEqual([false, false])
    tried += 2
  }
  expect((await service.store.events.read(session, 0, 100, ['user.message'])).length).toBe(1)
  await stays(service)
  tally('MCP: other tenants', tried, 0)
})

test('an approval is decided once, by who may, for its own task, and with a decision', async () => {
  const { service, taskId, item, gate } = await startAttacked({
    governance: { service_accounts_decide: false },
  })
  await using _ = service
  const { adminToken } = service
  const robot = (await service.addServiceAccount({ scope: 'org' })).token
  const update = (token: string, task: string, inputResponses: object): Promise<string> =>
    send(service, token, modern('tasks/update', { taskId: task, inputResponses })).then(({ text }) => text)
  const accept = (content: object) => ({ [`apr_${gate}`]: { action: 'accept', content } })

  const refused = await callTool(service, robot, 'decide', { item_id: item, approve: true })
  expect([refused.isError, refused.content[0]?.text]).toEqual([
    true,
    expect.stringContaining('service account cannot decide'),
  ])
  expect(await update(robot, taskId, accept({ decision: 'approve' }))).toContain('people_decide')
  const other = await send(
    service,
    adminToken,
    modern('tools/call', { name: 'start_session', arguments: { message: 'another' } }),
  )
  await update(adminToken, other.json.result.taskId, accept({ decision: 'approve' }))
  for (const content of [{}, { decision: 'yes' }, { decision: true }, { approve: true }])
    expect(await update(adminToken, taskId, accept(content))).toContain('-32602')
  await update(adminToken, taskId, { apr_1: { action: 'accept' }, ask_1: { action: 'accept' } })
  await update(adminToken, taskId, { [`apr_${gate}`]: { action: 'cancel' } })
  await stays(service)

  await update(adminToken, taskId, { [`apr_${gate}`]: { action: 'decline' } })
  const again = await callTool(service, adminToken, 'decide', { item_id: item, approve: false })
  expect(again.isError).toBe(undefined)
  const opposite = await callTool(service, adminToken, 'decide', { item_id: item, approve: true })
  expect(opposite.isError).toBe(true)
  tally('MCP: approvals', 12, 0)
})

test('callers without a token, and pages of other origins, are refused before anything is read', async () => {
  const { service } = await startAttacked({
    public_url: 'https://cairn.example.org',
    auth: { issuer: 'https://login.example.org', audience: 'cairn', jwks_url: 'https://login.example.org/k' },
  })
  await using _ = service
  const none = await send(service, null, modern('tools/list'))
  expect([none.status, none.json.error.data.code]).toEqual([401, 'unauthenticated'])
  const header = none.headers.get('www-authenticate') ?? ''
  const document = /resource_metadata="https:\/\/cairn\.example\.org(.*)"/.exec(header)?.[1] ?? ''
  const metadata = await service.call(document, { token: null })
  expect(metadata.json).toMatchObject({
    resource: 'https://cairn.example.org/compat/mcp',
    authorization_servers: ['https://login.example.org'],
  })
  expect((await send(service, 'cairn_sk_wrong', modern('tools/list'))).status).toBe(401)
  const from = async (origin: string): Promise<number> => {
    const { body, headers } = modern('tools/list')
    const options = { method: 'POST', body, headers: { ...headers, origin } }
    return (await service.call(MCP_PATH, options)).status
  }
  expect(
    await Promise.all(['https://evil.example', 'http://localhost.evil.example', 'null', 'x'].map(from)),
  ).toEqual([403, 403, 403, 403])
  expect(await Promise.all(['https://cairn.example.org', 'http://localhost:3000'].map(from))).toEqual([
    200, 200,
  ])
  tally('MCP: credentials and origins', 6, 0)
})

/** A question of the server to one client must not be answered by another. */
test('a legacy answer is taken from the caller that was asked, and only once', async () => {
  const { service, session, others } = await startAttacked()
  await using _ = service
  const asks = legacy('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'x', version: '1' },
  })
  const introduced = await send(service, service.adminToken, asks)
  const headers = {
    ...asks.headers,
    authorization: `Bearer ${service.adminToken}`,
    'mcp-session-id': introduced.headers.get('mcp-session-id') ?? '',
  }
  const stream = await fetch(service.url + MCP_PATH, {
    method: 'POST',
    headers,
    body: JSON.stringify(
      legacy('tools/call', { name: 'wait', arguments: { session_id: session, seconds: 0 } }).body,
    ),
  })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('elicitation/create')) text += (await reader?.read())?.value ?? ''
  const id = /"id":"([\da-f-]{36})"/.exec(text)?.[1] ?? ''
  const result = { action: 'accept', content: { decision: 'approve' } }
  const answer = (token: string) =>
    service.call(MCP_PATH, {
      method: 'POST',
      token,
      body: { jsonrpc: '2.0', id, result },
      headers: { ...asks.headers, 'mcp-session-id': headers['mcp-session-id'] },
    })
  for (const token of Object.values(others)) expect((await answer(token)).status).toBe(404)
  await stays(service)
  expect((await answer(service.adminToken)).status).toBe(202)
  expect((await answer(service.adminToken)).status).toBe(404)
  while (!text.includes('"result"')) text += (await reader?.read())?.value ?? ''
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 1 })).items
  expect(item?.decision).toBe('approve')
  tally('MCP: answers of others', Object.keys(others).length + 1, 0)
})

/** Attacks on the Agent2Agent protocol: other tenants, missing rights, forged tasks, what Cairn has not. */
import { randomUUID } from 'node:crypto'
import { type Service } from '@cairn/api/test/service'
import { expect, test } from 'vitest'
import { addGate, answerOf, startCompat, tallyRequests } from '../stage.ts'

tallyRequests('Agent2Agent')

const PATH = '/compat/a2a/assistant'
type Init = Parameters<Service['call']>[1]
const rpc = ({ call }: Service, method: string, params: unknown, init: Init = {}, path = PATH) =>
  call(path, { method: 'POST', body: { jsonrpc: '2.0', id: 1, method, params }, ...init })
const message = (parts: unknown[], more: object = {}) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts, ...more },
  configuration: { returnImmediately: true },
})
const text = (value: string) => ({ text: value })

/** A task of the administrator with an open approval, and everybody else. */
async function start(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat({ compat: { a2a: { agents: ['assistant'] } }, ...config })
  const { json } = await rpc(service, 'SendMessage', message([text('hello')]))
  const { id: task, contextId: session } = json.result.task as { id: string; contextId: string }
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  return { service, task, session, gate, others: { colleague, stranger, robot } }
}

const NOT_FOUND = -32001

test('each method answers a task of another person like an unknown one', async () => {
  const { service, task, session, gate, others } = await start()
  await using _ = service
  const unknown = randomUUID()
  const calls = (id: string) =>
    [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', message([text('x')], { taskId: id, messageId: 'm' })],
      ['SendMessage', message([{ data: { decision: 'approve', approval: `apr_${gate}` } }], { taskId: id })],
    ] as const
  for (const token of Object.values(others)) {
    for (const [at, [method, params]] of calls(task).entries()) {
      const foreign = await rpc(service, method, params, { token })
      const [, other] = calls(task.replace(session, unknown))[at] ?? []
      const missing = await rpc(service, method, other, { token })
      expect([method, foreign.json.error?.code]).toEqual([method, NOT_FOUND])
      expect(answerOf(foreign)).toBe(answerOf(missing).replaceAll(unknown, session))
    }
    const listed = await rpc(service, 'ListTasks', { contextId: session }, { token })
    expect(listed.json.result.tasks).toEqual([])
    // A context of the same name is one of their own.
    const own = await rpc(service, 'SendMessage', message([text('x')], { contextId: session }), { token })
    expect(own.json.result.task.contextId).not.toBe(session)
  }
  expect(await service.store.events.read(session, 0, 100, ['user.message'])).toHaveLength(1)
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 10 })).items
  expect(item?.status).toBe('pending')
})

test('forged tasks are not found, and neither is a task of another agent', async () => {
  const { service, session, task } = await start({
    agents: { coder: {} },
    compat: { a2a: { agents: ['assistant', 'coder'] } },
  })
  await using _ = service
  for (const id of ['x', session, `${session}-2`, `${session}-01`, `${session}-999`, `${session}-1e3`, ''])
    expect((await rpc(service, 'GetTask', { id })).json.error.code).toBe(NOT_FOUND)
  const other = await rpc(service, 'GetTask', { id: task }, {}, '/compat/a2a/coder')
  expect(other.json.error.code).toBe(NOT_FOUND)
})

test('a card shows the configured agents only, and needs no credentials', async () => {
  const service = await startCompat({ agents: { coder: {} }, compat: { a2a: { agents: ['assistant'] } } })
  await using _ = service
  const card = await service.call('/.well-known/agent-card.json', { token: null })
  expect(card.json).toMatchObject({
    name: 'assistant',
    supportedInterfaces: [
      { url: `${service.url}${PATH}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
  })
  const same = await service.call(`${PATH}/.well-known/agent-card.json`, { token: null })
  expect(same.json).toEqual(card.json)
  for (const path of ['?agent=coder', '?agent=nobody', '?agent=../assistant'])
    expect((await service.call(`/.well-known/agent-card.json${path}`, { token: null })).status).toBe(404)
  expect((await service.call('/.well-known/agent-card.json', { method: 'POST' })).status).toBe(405)
  expect((await rpc(service, 'GetTask', { id: 'x' }, {}, '/compat/a2a/coder')).status).toBe(404)
  const off = await startCompat()
  await using __ = off
  expect((await off.call('/.well-known/agent-card.json', { token: null })).status).toBe(404)
})

/** Promise 4.24: What the Agent2Agent protocol has and Cairn has not is refused with its own errors. */
test('what the protocol has and Cairn has not is refused with its own errors', async () => {
  const { service, session } = await start()
  await using _ = service
  const code = async (method: string, params: unknown, init: Init = {}) =>
    (await rpc(service, method, params, init)).json.error?.code as number | undefined
  const config = { taskPushNotificationConfig: { url: 'https://example.com' } }
  for (const verb of ['CreateTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs'])
    expect(await code(verb, {})).toBe(-32003)
  expect(await code('SendMessage', { ...message([text('x')]), configuration: config })).toBe(-32003)
  expect(await code('GetExtendedAgentCard', {})).toBe(-32007)
  expect(await code('SendMessage', message([{ url: 'https://example.com/a.pdf' }]))).toBe(-32005)
  expect(await code('SendMessage', message([{ raw: 'AA==', mediaType: 'application/pdf' }]))).toBe(-32005)
  expect(await code('SendMessage', message([{ data: { decision: 'approve' } }]))).toBe(-32602)
  expect(await code('SendMessage', message([text('/stop')]))).toBe(-32602)
  expect(await code('SendMessage', message([text('x')], { taskId: 'x' }))).toBe(NOT_FOUND)
  expect(await code('SendMessage', { ...message([text('x')]), tenant: 'other' })).toBe(-32004)
  expect(await code('SendMessage', {})).toBe(-32602)
  expect(await code('ListTasks', {})).toBe(-32004)
  expect(await code('ListTasks', { contextId: session, pageToken: 'x' })).toBe(-32602)
  expect(await code('tasks/get', { id: 'x' })).toBe(-32601)
  expect(await code('GetTask', { id: 'x' }, { headers: { 'a2a-version': '0.3' } })).toBe(-32009)
  expect((await service.call(PATH, { method: 'POST', raw: '{' })).json.error.code).toBe(-32700)
  expect((await service.call(PATH, { method: 'POST', raw: '{}' })).json.error.code).toBe(-32600)
  const none = await rpc(service, 'GetTask', { id: 'x' }, { token: null })
  expect([none.status, none.json.jsonrpc]).toEqual([401, '2.0'])
  const large = await service.call(PATH, { method: 'POST', raw: ' '.repeat(5 * 1024 * 1024) })
  expect([large.status, large.json.error.code]).toEqual([413, -32602])
})

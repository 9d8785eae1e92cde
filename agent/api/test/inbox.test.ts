/** Contract 4: the inbox, its answers and its live stream. */
import { randomUUID } from 'node:crypto'
import { createActionItem, createGateItem, createTaskCompleteItem, type CreatedItem } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { startService, type Service } from './service.ts'
import { openStream } from './stream.ts'

const ids = { newId: randomUUID }
const gate = () =>
  createGateItem(ids, {
    tool_name: 'terminal',
    tool_call_id: randomUUID(),
    arguments_excerpt: '{}',
    deny_reason: 'asks',
    policy_id: 'require_approval',
    arguments_hash: 'h',
  })
const action = () =>
  createActionItem(ids, {
    title: 'Log in',
    instructions: 'i',
    context: 'c',
    action_type: 'login',
    target: null,
    reason: 'r',
  })
const done = () =>
  createTaskCompleteItem(ids, { outcome: 'ok', summary: 's', duration_seconds: 1, session_title: null })

async function raise(service: Service, sessionId: string, created: CreatedItem): Promise<string> {
  await service.store.commit({ session_id: sessionId, events: [created.event] })
  return created.item_id
}
const respond = (service: Service, item: string, body: unknown) =>
  service.call(`/v1/inbox/${item}/respond`, { method: 'POST', body })

test('a gate is decided once, and a second answer returns the first decision', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const item = await raise(service, id, gate())
  expect((await respond(service, item, { decision: 'maybe' })).status).toBe(422)
  expect((await respond(service, item, { completed: true })).json.code).toBe('wrong_target')
  const first = await respond(service, item, { decision: 'approve' })
  expect([first.status, first.json.status, first.json.decision]).toEqual([200, 'responded', 'approve'])
  const second = await respond(service, item, { decision: 'reject' })
  expect([second.status, second.json.code, second.json.decision]).toEqual([
    409,
    'already_answered',
    'approve',
  ])
  expect(await service.store.grants.find(id, 'terminal', 'h')).not.toBeNull()
  expect((await respond(service, randomUUID(), { decision: 'approve' })).status).toBe(404)
})

/** Promise 4.7: Service accounts decide only if the configuration allows it. */
test.each([
  [true, [200, undefined]],
  [false, [403, 'people_decide']],
])(
  'with service_accounts_decide %s a decision of a service account returns %j',
  async (allowed, expected) => {
    await using service = await startService({ config: { governance: { service_accounts_decide: allowed } } })
    const { id: robot, token } = await service.addServiceAccount()
    const id = await service.newSession(token, '/v1/api/sessions')
    const item = await raise(service, id, gate())
    const answer = (token: string, body: unknown) =>
      service.call(`/v1/api/inbox/${item}/respond`, { method: 'POST', token, body })
    for (const decision of ['approve', 'reject']) {
      const { status, json } = await answer(token, { decision })
      if (decision === 'approve') expect([status, json.code]).toEqual(expected)
      else expect(status).toBe(allowed ? 409 : 403)
      if (!allowed) expect(json.detail).toContain('governance.service_accounts_decide')
    }
    const { json: shown } = await service.call(`/v1/inbox/${item}`)
    expect([shown.status, shown.decided_by_service_account_id]).toEqual(
      allowed ? ['responded', robot] : ['pending', undefined],
    )
    if (!allowed) {
      const { json: byPerson } = await answer(service.adminToken, { decision: 'approve' })
      expect([byPerson.decision, byPerson.decided_by_user_id]).toEqual(['approve', service.admin.id])
      // Actions stay allowed: an action is completed, not decided.
      const done = await raise(service, id, action())
      const completed = await service.call(`/v1/api/inbox/${done}/respond`, {
        method: 'POST',
        token,
        body: { completed: true },
      })
      expect(completed.status).toBe(200)
    }
  },
)

test('an action is completed, a completed task acknowledged, and an item marked as read', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const item = await raise(service, id, action())
  expect((await service.call(`/v1/inbox/${item}/ack`, { method: 'POST' })).json.code).toBe('wrong_target')
  expect((await respond(service, item, { completed: true })).json.decision).toBe('completed')
  const notice = await raise(service, id, done())
  expect((await service.call(`/v1/inbox/${notice}/read`, { method: 'POST' })).json.read_at).not.toBeNull()
  expect((await service.call(`/v1/inbox/${notice}/ack`, { method: 'POST' })).json.status).toBe('acknowledged')
  expect((await service.call('/v1/inbox')).json.items.map((shown: { id: string }) => shown.id)).toEqual([
    notice,
    item,
  ])
  expect(
    (await service.call('/v1/inbox?status=responded&kind=action_required,governance_gate')).json.items.map(
      (shown: { id: string }) => shown.id,
    ),
  ).toEqual([item])
  expect((await service.call(`/v1/inbox?session_id=${randomUUID()}`)).json.items).toEqual([])
})

test('no response contains the internal fields of an item', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const item = await raise(service, id, gate())
  for (const path of ['/v1/inbox', `/v1/inbox/${item}`])
    expect((await service.call(path)).text).not.toMatch(/arguments_hash|org_id|private/)
})

test('the live inbox sends pending items, then every change that its principal may see', async () => {
  await using service = await startService()
  const { token } = await service.addUser()
  const id = await service.newSession(token)
  const before = await raise(service, id, action())
  const mine = await openStream(service, '/v1/inbox/stream', { token })
  const other = await openStream(service, '/v1/inbox/stream', { token: (await service.addUser()).token })
  await mine.until(({ frames }) => frames().length === 1)
  await other.until(({ frames }) => frames().length === 1)
  expect(mine.frames()[0]).toMatchObject({ event: 'snapshot', id: null })
  expect(JSON.parse(mine.frames()[0]?.data ?? '').items.map((item: { id: string }) => item.id)).toEqual([
    before,
  ])
  const after = await raise(service, id, gate())
  await mine.until(({ frames }) => frames().length === 2)
  await service.call(`/v1/inbox/${after}/respond`, { method: 'POST', token, body: { decision: 'reject' } })
  await mine.until(({ frames }) => frames().length === 3)
  const items = mine
    .frames()
    .slice(1)
    .map(({ event, data }) => ({ event, ...(JSON.parse(data) as { id: string; status: string }) }))
  expect(items.map(({ event, id: shown, status }) => [event, shown, status])).toEqual([
    ['item', after, 'pending'],
    ['item', after, 'responded'],
  ])
  expect(mine.text()).not.toMatch(/arguments_hash|org_id/)
  expect(JSON.parse(other.frames()[0]?.data ?? '')).toEqual({ items: [] })
  expect(other.frames()).toHaveLength(1)
  mine.close()
  other.close()
})

/** Promise 5.5: An inbox item names the account that decided it. */
test('an item names the person or service account that decided it', async () => {
  await using service = await startService()
  const { token } = await service.addServiceAccount({ scope: 'org' })
  const id = await service.newSession()
  const [byPerson, byMachine, open] = [
    await raise(service, id, action()),
    await raise(service, id, action()),
    await raise(service, id, action()),
  ]
  const answer = { method: 'POST', body: { completed: true } }
  const told = await service.call(`/v1/inbox/${byPerson}/respond`, answer)
  expect(told.json.decided_by_name).toBe(service.admin.name)
  await service.call(`/v1/api/inbox/${byMachine}/respond`, { ...answer, token })
  const { json } = await service.call('/v1/inbox')
  const names = new Map(
    json.items.map((item: { id: string; decided_by_name?: string }) => [item.id, item.decided_by_name]),
  )
  expect([byPerson, byMachine, open].map(item => names.get(item))).toEqual([
    service.admin.name,
    'machine',
    undefined,
  ])
  expect((await service.call(`/v1/inbox/${byMachine}`)).json.decided_by_name).toBe('machine')
})

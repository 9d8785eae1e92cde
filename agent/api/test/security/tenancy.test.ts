/**
 * Contract 4: resources of another tenant return 404, never 403. Generated from the route table, so that no
 * route is missed.
 */
import { ROUTES, type Route, type RouteName } from '@cairn/protocol'
import { defineMission, createActionItem } from '@cairn/sessions'
import { tally } from '@cairn/protocol/test/attacks'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { addBlockedTask } from '../blocked-task.ts'
import { startService, type Service } from '../service.ts'

/** A valid body for each route, so that the guard rejects the request and not the schema. */
const BODIES: Partial<Record<RouteName, unknown>> = {
  renameSession: { title: 'Mine now' },
  forkSession: { event_id: 1 },
  sendMessage: { content: 'hello' },
  postEvents: {
    events: [{ type: 'user.define_outcome', description: 'x', rubric: { type: 'text', content: 'x' } }],
  },
  controlBrowser: { action: 'acquire' },
  putWorkspaceFile: { filename: 'a.txt', content: 'YQ==' },
  giveFeedback: { rating: 'up' },
  answerQuestion: { responses: [{ question: 'q', answer: 'a' }] },
  respondInbox: { completed: true },
  snoozeInboxItem: { until: new Date(Date.now() + 60_000).toISOString() },
  unblockTask: { answer: 'x' },
  cancelTask: {},
  pauseMission: {},
  resumeMission: {},
  cancelMission: {},
  changeSchedule: { name: 'Mine now' },
}
const routes = (Object.keys(ROUTES) as RouteName[]).map(name => [name, ROUTES[name] as Route] as const)
/** Routes of a session, an inbox item or a task: the ones that another tenant could try to reach. */
const owned = routes.filter(([, route]) =>
  /\{(?:id|item_id|task_id|mission_id|schedule_id)\}/.test(route.path),
)

type Target = { id: string; item: string; task: string; mission: string; schedule: string }

async function withItem(service: Service): Promise<Target> {
  const { token } = await service.addUser()
  const id = await service.newSession(token)
  await service.say(id, 'hello', token)
  const { event, item_id } = createActionItem(
    { newId: randomUUID },
    { title: 't', instructions: 'i', context: 'c', action_type: 'other', target: null, reason: 'r' },
  )
  await service.store.commit({ session_id: id, events: [event] })
  const { mission_id: mission } = await defineMission(
    { store: service.store, now: Date.now, newId: randomUUID },
    id,
    { description: 'd', rubric: 'r' },
  )
  const made = await service.call('/v1/schedules', {
    method: 'POST',
    body: { session_id: id, prompt: 'p', every_s: 3600 },
    token,
  })
  const { task_id: task } = await addBlockedTask(service, id)
  return { id, item: item_id, task, mission, schedule: String(made.json.id) }
}
const pathOf = (route: Route, { id, item, task, mission, schedule }: Target, prefix: string): string =>
  prefix +
  route.path
    .replace('{id}', id)
    .replace('{item_id}', item)
    .replace('{task_id}', task)
    .replace('{mission_id}', mission)
    .replace('{schedule_id}', schedule)
    .replace('{event_id}', '1')
    .replace('{tool_call_id}', 'call')
    .replace('{artifact_id}', 'art')
    .replace('{hash}', '0'.repeat(64)) +
  (route.path.endsWith('/file') ? '?path=a.txt' : '')

async function foreigners(service: Service): Promise<[who: string, token: string, prefixes: string[]][]> {
  const org_id = service.addOrganisation()
  return [
    ['a user of the same organisation', (await service.addUser()).token, ['/v1', '/v1/api']],
    [
      'an administrator of another organisation',
      (await service.addUser(undefined, { admin: true, org_id })).token,
      ['/v1', '/v1/api'],
    ],
    ['a service account of the same organisation', (await service.addServiceAccount()).token, ['/v1/api']],
    [
      'an org-wide service account of another organisation',
      (await service.addServiceAccount({ scope: 'org', org_id })).token,
      ['/v1/api'],
    ],
  ]
}

/** Promise 4.2: Every route returns 404 for resources of another tenant. */
test('every route of a session, an inbox item or a task returns 404 to another tenant and changes nothing', async () => {
  await using service = await startService()
  const target = await withItem(service)
  const before = await service.store.events.read(target.id, 0, 100)
  const answers: string[] = []
  let tried = 0
  for (const [who, token, prefixes] of await foreigners(service)) {
    for (const [name, route] of owned) {
      for (const prefix of prefixes.filter(prefix => prefix === '/v1' || route.alias)) {
        tried++
        const { status, json } = await service.call(pathOf(route, target, prefix), {
          method: route.method,
          token,
          ...(route.body ? { body: BODIES[name] } : {}),
        })
        if (status !== 404 || json.code !== 'not_found')
          answers.push(`${who}: ${route.method} ${prefix}${route.path} answered ${status}`)
      }
    }
  }
  tally('API: resources of other tenants', tried, answers.length)
  expect(answers).toEqual([])
  expect(await service.store.events.read(target.id, 0, 100)).toEqual(before)
  expect((await service.store.sessions.get(target.id))?.status).toBe('active')
  expect((await service.store.tasks.get(target.task))?.status).toBe('blocked')
})

/** An answer without the parts that identify the request. */
const strip = ({ status, json }: { status: number; json: Record<string, unknown> }, id: string) => [
  status,
  { ...json, request_id: '', detail: String(json['detail']).replace(id, 'ID') },
]

test('an unknown session returns exactly the response of a foreign one', async () => {
  await using service = await startService()
  const target = await withItem(service)
  const { token } = await service.addUser()
  const unknown = randomUUID()
  expect(strip(await service.call(`/v1/sessions/${target.id}`, { token }), target.id)).toEqual(
    strip(await service.call(`/v1/sessions/${unknown}`, { token }), unknown),
  )
})

test('listings contain nothing of other tenants', async () => {
  await using service = await startService()
  await withItem(service)
  for (const [who, token, prefixes] of await foreigners(service)) {
    const prefix = prefixes.at(-1)
    const sessions = await service.call(`${prefix}/sessions`, { token })
    const items = await service.call(`${prefix}/inbox`, { token })
    expect([who, sessions.json.sessions, items.json.items]).toEqual([who, [], []])
  }
})

test('an administrator sees the sessions of their organisation', async () => {
  await using service = await startService()
  const { id, item } = await withItem(service)
  expect((await service.call(`/v1/sessions/${id}`)).status).toBe(200)
  expect((await service.call(`/v1/inbox/${item}`)).status).toBe(200)
})

test('every route but the public ones rejects an unauthenticated request', async () => {
  await using service = await startService()
  const target = await withItem(service)
  for (const [name, route] of routes) {
    if (route.access === 'public') continue
    const { status, json, headers } = await service.call(
      pathOf(route, target, '/v1').replace(/\{\w+\}/g, 'x'),
      { method: route.method, token: null, ...(route.body ? { body: BODIES[name] ?? {} } : {}) },
    )
    expect([name, status, json.code, headers.get('www-authenticate')]).toEqual([
      name,
      401,
      'unauthenticated',
      'Bearer',
    ])
  }
})

test('only administrators may use the routes of users and service accounts', async () => {
  await using service = await startService()
  const { token } = await service.addUser()
  for (const [name, route] of routes.filter(([, route]) => route.access === 'admin')) {
    const { status, json } = await service.call(
      pathOf(route, { id: '', item: '', task: '', mission: 'none', schedule: 'none' }, '/v1').replace(
        /\{\w+\}/g,
        'x',
      ),
      { method: route.method, token, ...(route.body ? { body: {} } : {}) },
    )
    expect([name, status, json.code]).toEqual([name, 403, 'forbidden'])
  }
})

test('an administrator cannot reach users and service accounts of another organisation', async () => {
  await using service = await startService()
  const org_id = service.addOrganisation()
  const { token } = await service.addUser(undefined, { admin: true, org_id })
  const { user } = await service.addUser()
  const account = await service.addServiceAccount()
  for (const path of [`/v1/admin/users/${user.id}`, `/v1/admin/service-accounts/${account.id}`]) {
    const { status, json } = await service.call(path, { method: 'DELETE', token })
    expect([path, status, json.code]).toEqual([path, 404, 'not_found'])
  }
  const link = await service.call(`/v1/admin/users/${user.id}/login-links`, { method: 'POST', token })
  expect([link.status, link.json.code]).toEqual([404, 'not_found'])
  expect((await service.store.accounts.getUser(user.id))?.disabled_at).toBeNull()
  expect((await service.call('/v1/api/auth/me', { token: account.token })).status).toBe(200)
  const listed = JSON.stringify([
    (await service.call('/v1/admin/users', { token })).json,
    (await service.call('/v1/admin/service-accounts', { token })).json,
  ])
  for (const foreign of [user.id, user.email, account.id, service.admin.id, service.admin.email])
    expect(listed).not.toContain(foreign)
})

test('a filter by another tenant’s session returns nothing', async () => {
  await using service = await startService()
  const { id } = await withItem(service)
  for (const [who, token, prefixes] of await foreigners(service)) {
    const { status, json } = await service.call(`${prefixes.at(-1)}/inbox?session_id=${id}`, { token })
    expect([who, status, json.items]).toEqual([who, 200, []])
  }
})

test('these tests cover every parameter in the path of a route', () => {
  const names = new Set(
    routes.flatMap(([, route]) => [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)),
  )
  expect([...names].toSorted()).toEqual([
    'account_id',
    'artifact_id',
    // notifications.test.ts removes the subscription of another person.
    'browser_id',
    // These, and link_id and sender, belong to connections and linked accounts: channels.test.ts.
    'channel_id',
    'delivery_id',
    'event_id',
    'hash',
    'id',
    'item_id',
    'link_id',
    'mission_id',
    // The name of an agent or another setting: agent/app/src/settings/settings-service.test.ts.
    'name',
    // notifications.test.ts tries to resend an abandoned notification.
    'notice_id',
    'schedule_id',
    'sender',
    // The name of an MCP server in the configuration, which belongs to no organisation.
    'server',
    'share_id',
    'task_id',
    'tool_call_id',
    'user_id',
    // marks.test.ts removes the saved view of another person.
    'view_id',
  ])
  // The others that are not replaced here follow a session id.
  expect(
    routes.filter(
      ([, route]) =>
        /\{(?:artifact_id|event_id|share_id|tool_call_id)\}/.test(route.path) &&
        !route.path.startsWith('/sessions/{id}/'),
    ),
  ).toEqual([])
})

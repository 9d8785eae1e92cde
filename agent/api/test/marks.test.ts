/** Contract 4.25: pins, saved views, and snoozed and unread items belong to one person. */
import { expect, test } from 'vitest'
import { createActionItem, createTaskCompleteItem } from '@cairn/sessions'
import { randomUUID } from 'node:crypto'
import { startService, type Service } from './service.ts'

const DAY_MS = 86_400_000
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()

async function begin() {
  const service = await startService()
  const { token } = await service.addUser()
  const session = await service.newSession(token)
  await service.say(session, 'hello', token)
  const as = (given: string) => (method: string, path: string, body?: unknown) =>
    service.call(`/v1${path}`, { method, token: given, ...(body === undefined ? {} : { body }) })
  return { service, session, ann: as(token), admin: as(service.adminToken) }
}

async function ask({ store }: Service, session_id: string): Promise<string> {
  const { event, item_id } = createActionItem(
    { newId: randomUUID },
    { title: 't', instructions: 'i', context: 'c', action_type: 'other', target: null, reason: 'r' },
  )
  await store.commit({ session_id, events: [event] })
  return item_id
}

async function report({ store }: Service, session_id: string): Promise<string> {
  const { event, item_id } = createTaskCompleteItem(
    { newId: randomUUID },
    {
      session_title: 'Done',
      summary: 's',
      duration_seconds: 1,
      outcome: 'success',
    },
  )
  await store.commit({ session_id, events: [event] })
  return item_id
}

/** Promise 4.25: A snoozed item is hidden from its person alone, until its time. */
test('a snoozed item leaves what needs its person, for them alone, and comes back', async () => {
  const { service, session, ann, admin } = await begin()
  await using _ = service
  const item = await ask(service, session)
  const needs = async (who: typeof ann) => (await who('GET', '/home')).json.needs.count
  expect(await needs(ann)).toBe(1)
  const until = inDays(1)
  const snoozed = await ann('POST', `/inbox/${item}/snooze`, { until })
  expect(snoozed.json).toMatchObject({ id: item, status: 'pending', snoozed_until: until })
  expect([await needs(ann), await needs(admin)]).toEqual([0, 1])
  expect((await ann('GET', '/inbox')).json.items).toMatchObject([{ snoozed_until: until }])
  expect((await admin('GET', `/inbox/${item}`)).json).not.toHaveProperty('snoozed_until')
  expect((await ann('DELETE', `/inbox/${item}/snooze`)).json).not.toHaveProperty('snoozed_until')
  expect(await needs(ann)).toBe(1)

  for (const [bad, why] of [
    [inDays(-1), 'in the future'],
    [inDays(91), 'at most 90 days'],
  ] as const) {
    const { status, json } = await ann('POST', `/inbox/${item}/snooze`, { until: bad })
    expect([status, json.detail]).toEqual([422, expect.stringContaining(why) as string])
  }
  await ann('POST', `/inbox/${item}/snooze`, { until })
  await ann('POST', `/inbox/${item}/respond`, { completed: true })
  expect((await ann('GET', `/inbox/${item}`)).json).not.toHaveProperty('snoozed_until')
  expect((await ann('POST', `/inbox/${item}/snooze`, { until })).json.code).toBe('already_answered')
})

test('an item is unread again for the person who says so, until they read it', async () => {
  const { service, session, ann, admin } = await begin()
  await using _ = service
  const item = await ask(service, session)
  expect((await ann('POST', `/inbox/${item}/read`)).json.read_at).toEqual(expect.any(String))
  expect((await ann('POST', `/inbox/${item}/unread`)).json.read_at).toBeNull()
  expect((await ann('GET', `/inbox/${item}`)).json.read_at).toBeNull()
  expect((await admin('GET', `/inbox/${item}`)).json.read_at).toEqual(expect.any(String))
  await admin('POST', `/inbox/${item}/unread`)
  await admin('POST', `/inbox/${item}/read`)
  expect(
    (await ann('GET', `/inbox/${item}`)).json.read_at,
    'an administrator reads for themselves',
  ).toBeNull()
  await ann('POST', `/inbox/${item}/snooze`, { until: inDays(1) })
  expect((await ann('GET', `/inbox/${item}`)).json).toMatchObject({ read_at: null })
  await ann('POST', `/inbox/${item}/read`)
  const { json } = await ann('GET', `/inbox/${item}`)
  expect([json.read_at, json.snoozed_until]).toEqual([expect.any(String), expect.any(String)])
})

test('an acknowledgement is taken back, and a decision is not', async () => {
  const { service, session, ann } = await begin()
  await using _ = service
  const news = await report(service, session)
  expect((await ann('POST', `/inbox/${news}/ack`)).json.status).toBe('acknowledged')
  expect((await ann('DELETE', `/inbox/${news}/ack`)).json).toMatchObject({
    status: 'pending',
    decision: null,
  })
  expect((await ann('DELETE', `/inbox/${news}/ack`)).status, 'pending already').toBe(200)
  const item = await ask(service, session)
  await ann('POST', `/inbox/${item}/respond`, { completed: true })
  expect((await ann('DELETE', `/inbox/${item}/ack`)).json.code).toBe('wrong_target')
})

/** Promise 4.25: Pins and saved views of the sessions belong to one person. */
test('pins and saved views are kept for one person, and bounded', async () => {
  const { service, session, ann, admin } = await begin()
  await using _ = service
  expect((await ann('GET', '/session-marks')).json).toEqual({ pins: [], views: [] })
  expect((await ann('POST', `/sessions/${session}/pin`)).json.pins).toEqual([session])
  expect((await ann('POST', '/sessions/unknown/pin')).status).toBe(404)
  const search = { state: 'failed', cost: 2, archived: true }
  await ann('POST', '/session-views', { name: 'Failed', search: { state: 'failed' } })
  const { json } = await ann('POST', '/session-views', { name: ' Failed ', search })
  expect(json).toEqual({ pins: [session], views: [{ id: json.views[0].id, name: 'Failed', search }] })
  expect((await admin('GET', '/session-marks')).json).toEqual({ pins: [], views: [] })
  expect((await admin('DELETE', `/session-views/${json.views[0].id}`)).status).toBe(404)
  expect((await ann('POST', '/session-views', { name: '', search: {} })).status).toBe(422)
  for (let n = 1; n < 50; n++) await ann('POST', '/session-views', { name: `View ${n}`, search: {} })
  expect((await ann('POST', '/session-views', { name: 'One more', search: {} })).json.code).toBe(
    'limit_reached',
  )
  expect((await ann('DELETE', `/session-views/${json.views[0].id}`)).json.views).toHaveLength(49)
  expect((await ann('DELETE', `/sessions/${session}/pin`)).json.pins).toEqual([])
})

test('a listing that asks for it has the pinned sessions first, once, and marks them', async () => {
  const { service, session: oldest, ann, admin } = await begin()
  await using _ = service
  const { token } = await service.addUser()
  const foreign = await service.newSession(token)
  for (let n = 0; n < 3; n++) await ann('POST', '/sessions', {})
  await ann('POST', `/sessions/${oldest}/pin`)
  const page = async (more: string, who = ann) => {
    const { json } = await who('GET', `/sessions?limit=2&${more}`)
    return {
      ...json,
      ids: json.sessions.map(({ id, pinned }: { id: string; pinned?: true }) => [id, pinned]),
    }
  }
  const first = await page('pins=first')
  expect(first.ids).toHaveLength(3)
  expect(first.ids[0]).toEqual([oldest, true])
  const second = await page(`pins=first&cursor=${first.next_cursor}`)
  expect(second.ids.flat()).not.toContain(oldest)
  expect((await page('')).ids.flat(), 'not asked for').not.toContain(oldest)
  expect((await page('pins=first&state=failed')).ids, 'a filter decides').toEqual([])
  expect((await page('pins=first&status=archived')).ids).toEqual([])
  expect((await page('pins=first', admin)).ids.flat()).not.toContain(true)
  expect((await page('pins=first')).ids.flat()).not.toContain(foreign)
})

/** Promise 4.25: A preference belongs to one person. */
test('a person switches single-letter keys off for themselves alone, and on again', async () => {
  const { service, ann, admin } = await begin()
  await using _ = service
  const keysOf = async (who: typeof ann) => (await who('GET', '/auth/me')).json.letter_keys
  expect(await keysOf(ann)).toBe(true)
  expect((await ann('PATCH', '/auth/preferences', { letter_keys: false })).json).toMatchObject({
    kind: 'user',
    letter_keys: false,
  })
  expect([await keysOf(ann), await keysOf(admin)]).toEqual([false, true])
  // An absent key changes nothing.
  expect((await ann('PATCH', '/auth/preferences', {})).json.letter_keys).toBe(false)
  expect((await ann('PATCH', '/auth/preferences', { letter_keys: 'no' })).status).toBe(422)
  expect((await ann('PATCH', '/auth/preferences', { letter_keys: true })).json.letter_keys).toBe(true)
  expect(await keysOf(ann)).toBe(true)
})

/** Contract 3: the precedence of `after`, Last-Event-ID and 0; invalid cursors are rejected. */
import { syntheticMessage } from '@cairn/sessions'
import { afterAll, expect, test } from 'vitest'
import { startService, type Service } from './service.ts'
import { openStream } from './stream.ts'

/** For tests that leave no state behind. */
const shared = await startService()
afterAll(() => shared[Symbol.asyncDispose]())

async function withLog(service: Service, count: number): Promise<string> {
  const id = await service.newSession()
  for (let n = 1; n <= count; n++) await service.say(id, `message ${n}`)
  return id
}
async function idsOf(
  service: Service,
  path: string,
  headers: Record<string, string>,
  count: number,
): Promise<number[]> {
  const stream = await openStream(service, path, { headers })
  await stream.until(({ ids }) => ids().length >= count)
  stream.close()
  return stream.ids()
}

/**
 * Promise 3.2: `after` takes precedence over `Last-Event-ID`, and without either the stream starts at the
 * beginning.
 */
test('a stream starts after `after`, else after Last-Event-ID, else at the beginning', async () => {
  await using service = await startService()
  const path = `/v1/sessions/${await withLog(service, 4)}/events`
  expect(await idsOf(service, path, {}, 4)).toEqual([1, 2, 3, 4])
  expect(await idsOf(service, path, { 'last-event-id': '2' }, 2)).toEqual([3, 4])
  expect(await idsOf(service, `${path}?after=3`, { 'last-event-id': '1' }, 1)).toEqual([4])
  expect(await idsOf(service, `${path}?after=0`, { 'last-event-id': 'nonsense' }, 4)).toEqual([1, 2, 3, 4])
  expect(await idsOf(service, path, { 'last-event-id': '' }, 4)).toEqual([1, 2, 3, 4])
})

test.each(['-1', '1.5', 'x', '', '1e3', '0x1', ' 1', '9'.repeat(16), '1,2', '%00'])(
  'rejects after=%s as a cursor on both routes',
  async after => {
    const service = shared
    const id = await service.newSession()
    for (const path of [
      `/v1/sessions/${id}/events`,
      `/v1/sessions/${id}/events/poll`,
      `/v1/api/sessions/${id}/events`,
    ]) {
      const { status, json, headers } = await service.call(`${path}?after=${after}`)
      expect([status, json.code, headers.get('content-type')]).toEqual([
        400,
        'invalid_cursor',
        'application/problem+json',
      ])
    }
    if (/^[\x21-\x7e]+$/.test(after)) {
      const { status, json } = await service.call(`/v1/sessions/${id}/events`, {
        headers: { 'last-event-id': after },
      })
      expect([status, json.code]).toEqual([400, 'invalid_cursor'])
    }
  },
)

test('a cursor beyond the log waits for later events', async () => {
  await using service = await startService()
  const id = await withLog(service, 2)
  const ahead = await openStream(service, `/v1/sessions/${id}/events?after=4`)
  const beside = await openStream(service, `/v1/sessions/${id}/events?after=0`)
  await beside.until(({ ids }) => ids().length === 2)
  for (let n = 3; n <= 6; n++) await service.say(id, `message ${n}`)
  await ahead.until(({ ids }) => ids().length === 2)
  await beside.until(({ ids }) => ids().length === 6)
  expect(ahead.ids()).toEqual([5, 6])
  expect(beside.ids()).toEqual([1, 2, 3, 4, 5, 6])
  ahead.close()
  beside.close()
})

test('poll returns pages with the next cursor, and clamps its limit to 1..1000', async () => {
  await using service = await startService()
  const id = await withLog(service, 5)
  const poll = async (query: string) => (await service.call(`/v1/sessions/${id}/events/poll${query}`)).json
  const first = await poll('?limit=2')
  expect([first.events.map((event: { id: number }) => event.id), first.has_more, first.last_id]).toEqual([
    [1, 2],
    true,
    2,
  ])
  const second = await poll(`?limit=3&after=${first.last_id}`)
  expect([second.events.map((event: { id: number }) => event.id), second.has_more, second.last_id]).toEqual([
    [3, 4, 5],
    false,
    5,
  ])
  expect(await poll('?after=5')).toEqual({ events: [], has_more: false, last_id: 5 })
  expect(await poll('?after=77')).toEqual({ events: [], has_more: false, last_id: 77 })
  expect((await poll('?limit=0')).events).toHaveLength(1)
  expect((await poll('?limit=-5')).events).toHaveLength(1)
  expect((await poll('?limit=999999')).events).toHaveLength(5)
  const refused = await service.call(`/v1/sessions/${id}/events/poll?limit=two`)
  expect([refused.status, refused.json.code]).toEqual([400, 'bad_request'])
})

test('a page of a thousand events contains exactly the stored records', async () => {
  await using service = await startService()
  const id = await service.newSession()
  for (let n = 0; n < 3; n++)
    await service.store.commit({
      session_id: id,
      events: Array.from({ length: 400 }, (_, at) => syntheticMessage('test', `${n}.${at} "\\ é 漢 \u2028`)),
    })
  const stored = await service.store.events.read(id, 0, 1000)
  const { text } = await service.call(`/v1/sessions/${id}/events/poll?limit=1000`)
  expect(text).toBe(`{"events":[${stored.map(({ json }) => json).join(',')}],"has_more":true,"last_id":1000}`)
})

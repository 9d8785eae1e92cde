/** Contract 4.22: several logs, and the changes of sessions and inbox, over one connection. */
import { syntheticMessage } from '@cairn/sessions'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLoginLink } from '../src/index.ts'
import { type Service, startService } from './service.ts'
import { openStream, type Stream } from './stream.ts'

const pathOf = (cursors: Record<string, number>): string =>
  `/v1/stream?sessions=${Object.entries(cursors)
    .map(entry => entry.join(':'))
    .join(',')}`
/** The frames that contain events of one session. */
const framesOf = (stream: Stream, id: string) =>
  stream.frames().filter(frame => frame.id !== null && frame.data.includes(`"session_id":"${id}"`))
const idsOf = (stream: Stream, id: string): number[] => framesOf(stream, id).map(frame => Number(frame.id))
const named = (stream: Stream, name: string) =>
  stream
    .frames()
    .filter(({ id, event }) => id === null && event === name)
    .map(({ data }) => JSON.parse(data))

/** For tests that end no login and fill no log. */
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

/**
 * Promise 4.22: The shared stream sends each event of several logs once after its cursor, byte-identical to
 * single streams.
 */
test('the shared stream sends the log of each session after its cursor, history and live, once', async () => {
  const [first, second] = [await service.newSession(), await service.newSession()]
  for (const id of [first, second, second]) await service.say(id, 'before')
  const stream = await openStream(service, pathOf({ [first]: 0, [second]: 1 }))
  const single = await openStream(service, `/v1/sessions/${second}/events?after=1`)
  await stream.until(({ frames }) => frames().length === 3)
  for (const id of [first, second]) await service.say(id, 'live')
  await stream.until(() => idsOf(stream, second).length === 2 && idsOf(stream, first).length === 2)
  await single.until(({ ids }) => ids().length === 2)
  expect(idsOf(stream, first)).toEqual([1, 2])
  // The same bytes as on the stream of one session.
  expect(framesOf(stream, second)).toEqual(single.frames())
  expect(named(stream, 'opened')).toEqual([{ principal_id: service.admin.id }])
  for (const each of [stream, single]) each.close()
})

/** Promise 4.22: The shared stream sends session and inbox changes only to principals who may see them. */
test('with changes=true the shared stream also sends changes of sessions and of the inbox', async () => {
  const { token } = await service.addUser()
  const stream = await openStream(service, '/v1/stream?changes=true', { token })
  await stream.until(({ text }) => text().includes('event: snapshot'))
  expect([named(stream, 'opened').length, named(stream, 'snapshot')]).toEqual([1, [{ items: [] }]])
  const foreign = await service.newSession()
  const id = await service.newSession(token)
  await service.say(foreign, 'go')
  await service.say(id, 'go', token)
  await stream.until(() => named(stream, 'session').at(-1)?.state === 'running')
  expect(new Set(named(stream, 'session').map(session => session.id))).toEqual(new Set([id]))
  stream.close()
})

/** Promise 4.22, 4.2: The shared stream refuses a session of another tenant and continues with the others. */
test('the shared stream rejects a session of another tenant like a missing one', async () => {
  const { token } = await service.addUser()
  const [foreign, own] = [await service.newSession(), await service.newSession(token)]
  await service.say(foreign, 'secret')
  await service.say(own, 'mine', token)
  const stream = await openStream(service, pathOf({ [foreign]: 0, missing: 0, [own]: 0 }), { token })
  await stream.until(() => idsOf(stream, own).length === 1)
  await service.say(foreign, 'secret')
  await service.say(own, 'mine', token)
  await stream.until(() => idsOf(stream, own).length === 2)
  expect(named(stream, 'refused').map(({ session_id, problem }) => [session_id, problem.code])).toEqual([
    [foreign, 'not_found'],
    ['missing', 'not_found'],
  ])
  expect(stream.text()).not.toContain('secret')
  stream.close()
})

test('the shared stream rejects an empty query, a repeated session, and too many sessions', async () => {
  const many = Array.from({ length: 101 }, (_, at) => `s${at}:0`).join(',')
  for (const query of ['', '?changes=false', '?sessions=a', '?sessions=a:-1', '?sessions=a:0,a:1'])
    expect([query, (await service.call(`/v1/stream${query}`)).status]).toEqual([query, 400])
  const tooMany = await service.call(`/v1/stream?sessions=${many}`)
  expect([tooMany.status, tooMany.json.detail]).toEqual([400, expect.stringContaining('at most 100')])
  expect((await service.call('/v1/stream?changes=true', { token: null })).status).toBe(401)
})

/** Promise 4.22: The shared stream ends with its login. */
test('the shared stream ends when its login is revoked, and drains like every stream', async () => {
  await using service = await startService()
  const { user } = await service.addUser('carol@example.org')
  const { json: tokens } = await service.call('/v1/auth/login', {
    method: 'POST',
    token: null,
    body: { link_token: await createLoginLink(service.store, user.id, service.now()) },
  })
  const id = await service.newSession(tokens.access_token)
  const path = `${pathOf({ [id]: 0 })}&changes=true`
  const stream = await openStream(service, path, { token: tokens.access_token })
  const other = await openStream(service, '/v1/api/stream?changes=true', {
    token: (await service.addServiceAccount()).token,
  })
  for (const each of [stream, other]) await each.until(({ text }) => text().includes('event: opened'))
  await service.call(`/v1/admin/users/${user.id}`, { method: 'DELETE' })
  expect((await stream.ended).clean).toBe(true)
  const drained = service.api.drain()
  expect((await other.ended).clean).toBe(true)
  expect(other.text().endsWith(': draining\n')).toBe(true)
  await drained
})

/** Promise 4.22, 3.6: A stalled shared stream is disconnected and loses no event on resume. */
test('a shared stream that stalls with more than 1 MiB of its logs unsent is disconnected', async () => {
  await using service = await startService({ tuning: { stallMs: 500, tickMs: 50 } })
  const cursors: Record<string, number> = {}
  for (let n = 0; n < 4; n++) cursors[await service.newSession()] = 0
  const stalled = await openStream(service, pathOf(cursors))
  await stalled.until(({ text }) => text().includes('event: opened'))
  stalled.pause()
  // The kernel buffers some megabytes before the connection is full.
  for (const id of Object.keys(cursors))
    for (let n = 0; n < 25; n++)
      await service.store.commit({
        session_id: id,
        events: Array.from({ length: 10 }, () => syntheticMessage('test', 'x'.repeat(20_000))),
      })
  await expect.poll(async () => (await service.call('/metrics')).text).toContain('cairn_open_streams 0\n')
  stalled.resume()
  expect((await stalled.ended).clean).toBe(false)
  // Each log arrived as a gapless prefix, so the cursors lose nothing.
  for (const id of Object.keys(cursors))
    expect(idsOf(stalled, id)).toEqual(idsOf(stalled, id).map((_, at) => at + 1))
})

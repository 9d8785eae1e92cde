/** Contract 4: Idempotency-Key on every POST that creates. */
import { afterAll, expect, test } from 'vitest'
import { startService, type Service } from './service.ts'

/** For tests that leave no state behind. */
const shared = await startService()
afterAll(() => shared[Symbol.asyncDispose]())

const send = (service: Service, path: string, body: unknown, key: string, token = service.adminToken) =>
  service.call(path, { method: 'POST', body, token, headers: { 'idempotency-key': key } })

/** Promise 4.5: A replay with the same `Idempotency-Key` has no second effect. */
test('the same key and body return the first answer and have no second effect', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const first = await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k1')
  const again = await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k1')
  expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
    202,
    first.text,
    'true',
  ])
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  expect(
    (await service.store.events.read(id, 0, 10)).filter(({ type }) => type === 'user.message'),
  ).toHaveLength(1)
})

test('a key with another body or path is rejected with 422, and keys belong to one principal', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k1')
  for (const [path, body] of [
    [`/v1/sessions/${id}/messages`, { content: 'twice' }],
    ['/v1/sessions', { content: 'once' }],
  ] as const) {
    const answer = await send(service, path, body, 'k1')
    expect(answer.status).toBe(422)
  }
  expect((await send(service, `/v1/sessions/${id}/messages`, { content: 'twice' }, 'k1')).json.code).toBe(
    'idempotency_mismatch',
  )
  const { token } = await service.addUser()
  expect((await send(service, '/v1/sessions', {}, 'k1', token)).status).toBe(201)
})

test('a second request with the key returns 409 while the first one runs', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const commit = service.store.commit.bind(service.store)
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  service.store.commit = async given => {
    reached.resolve()
    await gate.promise
    return commit(given)
  }
  const first = send(service, `/v1/sessions/${id}/messages`, { content: 'slow' }, 'k2')
  await reached.promise
  const second = await send(service, `/v1/sessions/${id}/messages`, { content: 'slow' }, 'k2')
  expect([second.status, second.json.code]).toEqual([409, 'idempotency_in_progress'])
  gate.resolve()
  expect((await first).status).toBe(202)
  expect(
    (await send(service, `/v1/sessions/${id}/messages`, { content: 'slow' }, 'k2')).headers.get(
      'idempotency-replayed',
    ),
  ).toBe('true')
})

/** Promise 4: A request that crashed releases its `Idempotency-Key`, and its message is written once. */
test.each(['before', 'after'] as const)(
  'after a request died %s its commit, the next one with its key completes it and writes its message once',
  async when => {
    await using service = await startService()
    const id = await service.newSession()
    const commit = service.store.commit.bind(service.store)
    const dead = Promise.withResolvers<never>()
    const reached = Promise.withResolvers<void>()
    service.store.commit = async given => {
      if (when === 'after') await commit(given)
      reached.resolve()
      return dead.promise
    }
    // Never answered, as if its process had died.
    const first = send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k4').catch(() => null)
    await reached.promise
    service.store.commit = commit
    await send(service, `/v1/sessions/${id}/messages`, { content: 'another' }, 'k5')
    expect((await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k4')).json.code).toBe(
      'idempotency_in_progress',
    )
    service.advance(61_000)
    const again = await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k4')
    expect([again.status, again.json.event_id]).toEqual([202, when === 'after' ? 1 : 2])
    const replay = await send(service, `/v1/sessions/${id}/messages`, { content: 'once' }, 'k4')
    expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([again.text, 'true'])
    const said = (await service.store.events.read(id, 0, 10, ['user.message'])).map(
      ({ json }) => (JSON.parse(json) as { data: { content: string } }).data.content,
    )
    expect(said.toSorted()).toEqual(['another', 'once'])
    dead.reject(new Error('the process is gone'))
    await first
  },
)

test('a rejected request releases its key, and a key expires after a day', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.call(`/v1/sessions/${id}`, { method: 'DELETE' })
  expect((await send(service, `/v1/sessions/${id}/messages`, { content: 'x' }, 'k3')).status).toBe(409)
  expect((await send(service, '/v1/sessions', {}, 'k3')).status).toBe(201)
  service.advance(24 * 3_600_000 + 1000)
  const late = await send(service, '/v1/sessions', { title: 'new' }, 'k3', await service.mintAdmin())
  expect([late.status, late.headers.get('idempotency-replayed')]).toEqual([201, null])
})

test.each(['', ' ', 'ü', 'x'.repeat(201)])('rejects the key %j', async key => {
  const encoded = Buffer.from(key).toString('latin1')
  const { status } = await send(shared, '/v1/sessions', {}, encoded)
  expect(status).toBe(400)
})

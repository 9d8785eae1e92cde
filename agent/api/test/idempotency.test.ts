/** Contract 4: Idempotency-Key on every POST that creates. */
import { createHash, randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { createQuestionItem } from '@cairn/sessions'
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

/** Stands for a process that dies within a commit: its call is never answered. */
function dieInCommit({ store }: Service, when: 'before' | 'after') {
  const commit = store.commit.bind(store)
  const dead = Promise.withResolvers<never>()
  const reached = Promise.withResolvers<void>()
  store.commit = async given => {
    store.commit = commit
    if (when === 'after') await commit(given)
    reached.resolve()
    return dead.promise
  }
  return { reached: reached.promise, end: () => dead.reject(new Error('the process is gone')) }
}

async function readMessages({ store }: Service, id: string): Promise<string[]> {
  const events = await store.events.read(id, 0, 100, ['user.message'])
  return events.map(({ json }) => (JSON.parse(json) as { data: { content: string } }).data.content)
}

test('two requests with one key at the same time write one message and get the same answer', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const path = `/v1/sessions/${id}/messages`
  const commit = service.store.commit.bind(service.store)
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  service.store.commit = async given => {
    service.store.commit = commit
    reached.resolve()
    await gate.promise
    return commit(given)
  }
  const first = send(service, path, { content: 'slow' }, 'k2')
  await reached.promise
  const second = await send(service, path, { content: 'slow' }, 'k2')
  gate.resolve()
  const late = await first
  expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([202, null])
  expect([late.status, late.text, late.headers.get('idempotency-replayed')]).toEqual([
    202,
    second.text,
    'true',
  ])
  expect(await readMessages(service, id)).toEqual(['slow'])
})

test('a key of one message is rejected for another one that is committed first', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const path = `/v1/sessions/${id}/messages`
  const commit = service.store.commit.bind(service.store)
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  service.store.commit = async given => {
    service.store.commit = commit
    reached.resolve()
    await gate.promise
    return commit(given)
  }
  const first = send(service, path, { content: 'slow' }, 'k2')
  await reached.promise
  expect((await send(service, path, { content: 'fast' }, 'k2')).status).toBe(202)
  gate.resolve()
  expect((await first).json.code).toBe('idempotency_mismatch')
  expect(await readMessages(service, id)).toEqual(['fast'])
})

/** Promise 4: A request that crashed releases its `Idempotency-Key`, and its message is written once. */
test.each(['before', 'after'] as const)(
  'after a request died %s its commit, the next one with its key completes it at once and writes its message once',
  async when => {
    await using service = await startService()
    const id = await service.newSession()
    const path = `/v1/sessions/${id}/messages`
    const { reached, end } = dieInCommit(service, when)
    const first = send(service, path, { content: 'once' }, 'k4').catch(() => null)
    await reached
    await send(service, path, { content: 'another' }, 'k5')
    const again = await send(service, path, { content: 'once' }, 'k4')
    expect([again.status, again.json.event_id]).toEqual([202, when === 'after' ? 1 : 2])
    const replay = await send(service, path, { content: 'once' }, 'k4')
    expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([again.text, 'true'])
    expect((await readMessages(service, id)).toSorted()).toEqual(['another', 'once'])
    end()
    await first
  },
)

/** An open question of the agent. */
async function ask({ store }: Service, session_id: string): Promise<string> {
  const tool_call_id = randomUUID()
  const question = { tool_call_id, questions: [{ prompt: 'Which?' }] }
  await store.commit({ session_id, events: [createQuestionItem({ newId: randomUUID }, question).event] })
  return tool_call_id
}

test('an answer to a question, typed or not, is completed after its request died', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const responses = [{ question: 'Which?', answer: 'left' }]
  for (const isTyped of [true, false]) {
    const path = isTyped
      ? `/v1/sessions/${id}/messages`
      : `/v1/sessions/${id}/questions/${await ask(service, id)}/respond`
    if (isTyped) await ask(service, id)
    const body = isTyped ? { content: 'left' } : { responses }
    const { reached, end } = dieInCommit(service, isTyped ? 'before' : 'after')
    const first = send(service, path, body, path).catch(() => null)
    await reached
    const again = await send(service, path, body, path)
    expect(again.status).toBe(isTyped ? 202 : 201)
    if (isTyped) expect(again.json.taken_as).toBe('answer')
    const replay = await send(service, path, body, path)
    expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([again.text, 'true'])
    const written = await service.store.events.read(id, again.json.event_id - 1, 100)
    expect(written.map(({ type }) => type)).toEqual(['ask_user_question.response'])
    end()
    await first
  }
})

test('a stop by message is replayed with the event of the message', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const path = `/v1/sessions/${id}/messages`
  await send(service, path, { content: 'work' }, 'k1')
  const stop = await send(service, path, { content: '/stop' }, 'k2')
  expect(stop.status).toBe(202)
  const again = await send(service, path, { content: '/stop' }, 'k2')
  expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([stop.text, 'true'])
  const [said] = await service.store.events.read(id, stop.json.event_id - 1, 1)
  expect(said?.type).toBe('user.message')
})

/** Earlier programs claim the key of a message and store its answer after the commit. */
test.each(['before', 'after'] as const)(
  'the key of a request that an earlier program left %s its commit is completed after a minute',
  async when => {
    await using service = await startService()
    const id = await service.newSession()
    const path = `/v1/sessions/${id}/messages`
    const beginIdempotent = service.store.accounts.beginIdempotent.bind(service.store.accounts)
    let written = 0
    // The claim and the commit of that program, which then died.
    const hash = createHash('sha256').update(`POST ${path}\n{"content":"once"}`).digest('hex')
    const own = { org_id: service.admin.org_id, principal_id: service.admin.id, key: 'k6' }
    expect(await beginIdempotent(own, hash)).toBeNull()
    if (when === 'after') {
      const request_key = createHash('sha256').update(`${service.admin.id}\nk6`).digest('hex')
      const { last_id } = await service.store.commit({
        session_id: id,
        events: [writer('messages')('user.message', { content: 'once', request_key })],
      })
      written = last_id
    }
    expect((await send(service, path, { content: 'once' }, 'k6')).json.code).toBe('idempotency_in_progress')
    service.advance(61_000)
    const again = await send(service, path, { content: 'once' }, 'k6')
    expect([again.status, again.json.event_id]).toEqual([202, when === 'after' ? written : 1])
    const replay = await send(service, path, { content: 'once' }, 'k6')
    expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([again.text, 'true'])
    expect(await readMessages(service, id)).toEqual(['once'])
  },
)

test('a second creation with the key returns 409 while the first one runs, and for a minute after it died', async () => {
  await using service = await startService()
  const create = service.store.sessions.create.bind(service.store.sessions)
  const dead = Promise.withResolvers<never>()
  const reached = Promise.withResolvers<void>()
  service.store.sessions.create = () => {
    reached.resolve()
    return dead.promise
  }
  const first = send(service, '/v1/sessions', { title: 'new' }, 'k7').catch(() => null)
  await reached.promise
  service.store.sessions.create = create
  const second = await send(service, '/v1/sessions', { title: 'new' }, 'k7')
  expect([second.status, second.json.code]).toEqual([409, 'idempotency_in_progress'])
  service.advance(61_000)
  expect((await send(service, '/v1/sessions', { title: 'new' }, 'k7')).status).toBe(201)
  dead.reject(new Error('the process is gone'))
  await first
})

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

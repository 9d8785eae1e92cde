/** Contract 4.16 and 4.17: search results, their permissions, and the stream of session changes. */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { openStream } from './stream.ts'
import { startService, type Service } from './service.ts'

type Found = {
  results: { session: { id: string }; hits: { event_id: number; in: string; text: string }[] }[]
}
async function find(service: Service, query: string, token = service.adminToken, prefix = '/v1') {
  await service.store.search.catchUp()
  const { status, json } = await service.call(`${prefix}/search?${query}`, { token })
  return { status, ids: (json as Found).results?.map(({ session }) => session.id), json }
}

test('a search returns matches with their position, and accepts the filters of the listing', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.say(id, 'count the Äpfel of the orchard')
  await service.newSession()
  const { json } = await find(service, 'q=apfel')
  expect(json.results).toHaveLength(1)
  expect(json.results[0]).toMatchObject({
    session: { id, state: 'running' },
    hits: [{ event_id: 1, in: 'message', text: 'count the Äpfel of the orchard', marks: [[10, 15]] }],
  })
  expect((await find(service, 'q=orchard&state=running,paused')).ids).toEqual([id])
  expect((await find(service, 'q=orchard&state=done')).ids).toEqual([])
  expect((await find(service, 'q=orchard&until=2001-01-01')).ids).toEqual([])
  const listed = await service.call('/v1/sessions?state=running&sort=updated&min_cost_usd=0')
  expect(listed.json.sessions.map((session: { id: string }) => session.id)).toEqual([id])
  for (const wrong of ['state=busy', 'since=soon', 'min_cost_usd=much', 'sort=size', 'limit=x', 'agent='])
    expect([wrong, (await find(service, `q=x&${wrong}`)).status]).toEqual([wrong, 400])
  expect((await service.call('/v1/search')).status).toBe(400)
})

/** Promise 4.16: No search finds words of another user's session. */
test('a search finds no words of another user’s session, with any query', async () => {
  await using service = await startService()
  const { token: owner } = await service.addUser()
  const id = await service.newSession(owner)
  await service.say(id, 'the word is xylophone', owner)
  const org_id = service.addOrganisation()
  const others = [
    [(await service.addUser()).token, '/v1'],
    [(await service.addUser(undefined, { admin: true, org_id })).token, '/v1'],
    [(await service.addServiceAccount()).token, '/v1/api'],
    [(await service.addServiceAccount({ scope: 'org', org_id })).token, '/v1/api'],
  ] as const
  for (const [token, prefix] of others)
    for (const query of [
      'q=xylophone',
      'q=xylo&sort=cost',
      `q=${id}`,
      'q=xylophone&sort=updated&parent_id=none',
    ]) {
      const { status, ids } = await find(service, query, token, prefix)
      expect([query, status, ids]).toEqual([query, 200, []])
    }
  expect((await find(service, 'q=xylophone', owner)).ids).toEqual([id])
  expect((await find(service, 'q=xylophone')).ids).toEqual([id])
})

/** Promise 4.17: The session stream sends each change only to principals who may see the session. */
test('the stream sends each change of sessions that its reader may see, and no other', async () => {
  await using service = await startService()
  const { token } = await service.addUser()
  const own = await openStream(service, '/v1/sessions/stream', { token })
  const all = await openStream(service, '/v1/sessions/stream')
  const told = ({ frames }: typeof own, id: string) =>
    frames()
      .filter(({ event }) => event === 'session')
      .map(({ data }) => JSON.parse(data) as { id: string; state: string; message_count: number })
      .filter(session => session.id === id)
  for (const stream of [own, all]) await stream.until(({ text }) => text().includes('event: opened'))
  const foreign = await service.newSession()
  const id = await service.newSession(token)
  await service.say(id, 'go', token)
  const last = (stream: typeof own) => expect.poll(() => told(stream, id).at(-1)?.state)
  for (const stream of [own, all]) await last(stream).toBe('running')
  await service.call(`/v1/sessions/${id}/stop`, { method: 'POST', token })
  for (const stream of [own, all]) await last(stream).toBe('idle')
  await all.until(() => told(all, foreign).length > 0)
  expect(told(own, foreign)).toEqual([])
  for (const stream of [own, all]) stream.close()
})

test('concurrent changes are sent together', async () => {
  await using service = await startService()
  const stream = await openStream(service, '/v1/sessions/stream')
  await stream.until(({ text }) => text().includes('event: opened'))
  const id = await service.newSession()
  const { store } = service
  const title = (n: number) =>
    service.call(`/v1/sessions/${id}`, { method: 'PATCH', body: { title: `t${n}` } })
  await Promise.all(Array.from({ length: 20 }, (_, n) => title(n)))
  const last = (await store.sessions.get(id))?.title
  await stream.until(({ text }) => text().includes(`"title":"${last ?? randomUUID()}"`))
  expect(stream.frames().filter(({ event }) => event === 'session').length).toBeLessThan(10)
  stream.close()
})

test('only administrators see the usage of their organisation', async () => {
  await using service = await startService()
  const { user, token } = await service.addUser()
  const id = await service.newSession(token)
  await service.store.commit({ session_id: id, events: [answerOf(100, 20)] })
  await service.store.search.catchUp()
  const { json } = await service.call('/v1/admin/usage?by=user&days=1')
  expect(json.rows).toMatchObject([
    { name: user.id, calls: 1, input_tokens: 100, output_tokens: 20, cost_usd: 0.5 },
  ])
  expect(json.rows[0].day).toBe(new Date(service.now()).toISOString().slice(0, 10))
  expect((await service.call('/v1/admin/usage', { token })).status).toBe(403)
  const org_id = service.addOrganisation()
  const other = await service.addUser(undefined, { admin: true, org_id })
  expect((await service.call('/v1/admin/usage', { token: other.token })).json.rows).toEqual([])
  expect((await service.call('/v1/admin/usage?by=colour')).status).toBe(400)
  expect((await service.call('/v1/admin/health')).json).toMatchObject({ ready: true, sessions_to_index: 0 })
})

const turn = writer('turn')
const answerOf = (input_tokens: number, output_tokens: number) =>
  turn('llm.response', {
    message: { role: 'assistant', content: 'done' },
    model: 'm',
    input_tokens,
    output_tokens,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 1000,
    cost_usd: 0.5,
  })

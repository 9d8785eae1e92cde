/** GET /sessions/{id}/spans: the log as spans, as a reader would fold it itself. */
import { type SessionEvent, type SpanTable, writer } from '@cairn/protocol'
import { emptySpanFold, foldSpans, packSpans } from '@cairn/state'
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'

const turn = writer('turn')
const tool = writer('tools')
const life = writer('lifecycle')

/** A turn with this number of tool calls, and chunks between them that the spans do not need. */
const turnOf = (name: string, calls: number) => [
  turn('llm.request', { model: 'm', turn_id: name, iteration_index: 0 }),
  ...Array.from({ length: calls }, (_, at) => [
    turn('llm.delta', { content: 'a', turn_id: name, iteration_index: 0 }),
    tool('tool.call', { tool_call_id: `${name}-${at}`, name: 'read_file', arguments: { path: `${at}.ts` } }),
    tool('tool.result', { tool_call_id: `${name}-${at}`, name: 'read_file', content: '{}', elapsed_ms: 1 }),
  ]).flat(),
  life('session.complete', { reason: 'completed' }),
]

async function append(service: Service, id: string, name: string, calls: number): Promise<void> {
  await service.say(id, name)
  await service.store.commit({ session_id: id, events: turnOf(name, calls) })
}

async function tableOf(service: Service, id: string, query = ''): Promise<SpanTable> {
  const { status, json } = await service.call(`/v1/sessions/${id}/spans${query}`)
  expect(status).toBe(200)
  return json as SpanTable
}

/** The fold of all events but the chunks, which the server does not read. */
async function foldedHere(service: Service, id: string): Promise<SpanTable> {
  const fold = emptySpanFold()
  for (;;) {
    const page = await service.store.events.read(id, fold.through, 1000)
    if (page.length === 0) break
    foldSpans(
      fold,
      page.map(({ json }) => JSON.parse(json) as SessionEvent).filter(({ type }) => type !== 'llm.delta'),
    )
  }
  return JSON.parse(JSON.stringify(packSpans(id, fold))) as SpanTable
}

test('the server folds the whole log, and later only what is new', async () => {
  await using service = await startService()
  const id = await service.newSession()
  expect(await tableOf(service, id)).toMatchObject({ through_event_id: 0, from: [], resume: { turn: -1 } })
  await append(service, id, 'first', 700)
  const first = await tableOf(service, id)
  expect(first).toEqual(await foldedHere(service, id))
  expect(first.from).toHaveLength(702)
  const read = service.store.events.read
  const cursors: number[] = []
  service.store.events.read = (session, after, limit, types) => {
    cursors.push(after)
    return read.call(service.store.events, session, after, limit, types)
  }
  await append(service, id, 'second', 3)
  const second = await tableOf(service, id)
  expect(Math.min(...cursors), 'nothing is folded again').toBeGreaterThanOrEqual(first.through_event_id)
  expect(second).toEqual(await foldedHere(service, id))
  expect(second.from).toHaveLength(707)
})

test('a window of time and a depth leave out spans, and keep the turns of those that stay', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await append(service, id, 'first', 3)
  service.advance(60_000)
  await append(service, id, 'second', 2)
  const whole = await tableOf(service, id)
  const turns = await tableOf(service, id, '?depth=0')
  expect(turns.kind).toEqual([0, 0])
  expect(turns.resume).toBeNull()
  const late = await tableOf(service, id, `?from=${whole.started_at + 30_000}`)
  expect(late.names.slice(1)).toEqual(['m', 'read_file', 'read_file'])
  expect(late.parent).toEqual([-1, 0, 0, 0])
  const early = await tableOf(service, id, `?to=${whole.started_at + 30_000}`)
  expect(early.names).toHaveLength(5)
  expect((await service.call(`/v1/sessions/${id}/spans?depth=x`)).status).toBe(400)
})

test('the spans of a session are as private as its log', async () => {
  await using service = await startService()
  const { token: owner } = await service.addUser()
  const id = await service.newSession(owner)
  const { token } = await service.addUser()
  expect((await service.call(`/v1/sessions/${id}/spans`, { token })).status).toBe(404)
  expect((await service.call(`/v1/sessions/${id}/spans`, { token: owner })).status).toBe(200)
  const other = await service.addServiceAccount({ scope: 'own' })
  expect((await service.call(`/v1/api/sessions/${id}/spans`, { token: other.token })).status).toBe(404)
})

test('two readers at the same time get the same table', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await append(service, id, 'first', 600)
  const [one, two] = await Promise.all([tableOf(service, id), tableOf(service, id)])
  expect(one).toEqual(two)
  expect(one.from).toHaveLength(602)
})

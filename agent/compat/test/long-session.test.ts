/**
 * A client that opens a session of 100,000 events gets its first frame after a small part of the log was
 * read. LONG_SESSION sets the number of events.
 */
import { type Service } from '@cairn/api/test/service'
import type { EventDraft } from '@cairn/protocol'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answerOf, ended, type Entry, said } from './log-of.ts'
import { startCompat } from './stage.ts'

const EVENTS = Number(process.env['LONG_SESSION'] ?? 100_000)
/** Events of one commit. */
const BATCH = 2_000

const call = (at: number): Entry[] => [
  ['tool.call', { tool_call_id: `c${at}`, name: 'read_file', arguments: { path: 'a.txt' } }],
  ['tool.result', { tool_call_id: `c${at}`, name: 'read_file', content: '{"text":"hello"}', elapsed_ms: 1 }],
]
/** An exchange of some 20 events: a message, three answers with calls, and its end. */
const exchange = (at: number): Entry[] => [
  said(`message ${at}`),
  ...[0, 1, 2, 3].flatMap(step => [
    ...answerOf({ reasoning: '', content: 'A text.', shown: 0, retried: false, differs: false }, step).filter(
      ([type]) => type !== 'llm.delta',
    ),
    ...call(at * 10 + step),
  ]),
  ended,
]

async function fill({ store }: Service, session_id: string): Promise<number> {
  let last = 0
  for (let at = 0; last < EVENTS;) {
    const events: EventDraft[] = []
    while (events.length < BATCH)
      events.push(...exchange(at++).map(([type, data]) => ({ type, data }) as EventDraft))
    last = (await store.commit({ session_id, events })).last_id
  }
  return last
}

let service: Service
let session: string
let last: number
beforeAll(async () => {
  service = await startCompat({ compat: { a2a: { agents: ['assistant'] } } })
  session = await service.newSession()
  last = await fill(service, session)
})
afterAll(() => service[Symbol.asyncDispose]())

/** The first bytes of an answer, how long they took, and how many events were read until then. */
async function first(path: string, body?: unknown): Promise<{ read: number; ms: number; text: string }> {
  const { events } = service.store
  const spy = vi.spyOn(events, 'read')
  const leave = new AbortController()
  const began = performance.now()
  const response = await fetch(service.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: leave.signal,
  })
  const chunk = await response.body?.getReader().read()
  const ms = performance.now() - began
  leave.abort()
  const pages = await Promise.all(spy.mock.results.map(({ value }) => value as Promise<unknown[]>))
  spy.mockRestore()
  const read = pages.reduce((sum, page) => sum + page.length, 0)
  console.log(`${path.slice(0, 60)}: ${ms.toFixed(0)} ms, ${read} events read`)
  const text = new TextDecoder().decode(chunk?.value)
  expect([response.status, text]).toEqual([200, text])
  return { read, ms, text }
}

const SOME = 4_000
const message = (id: string) => ({ id, role: 'user', parts: [{ type: 'text', text: 'x' }], content: 'x' })

test('OpenAI: the last response, its stream, and a page of items', async () => {
  const { events } = service.store
  const said = await events.read(session, last - 100, 100, ['user.message'])
  const id = `resp_${session}_${said.at(-1)?.id}`
  const base = '/compat/openai/v1'
  expect((await first(`${base}/responses/${id}`)).read).toBeLessThan(SOME)
  expect((await first(`${base}/responses/${id}?stream=true`)).read).toBeLessThan(SOME)
  const conversation = `conv_${session.replaceAll('-', '')}`
  expect((await first(`${base}/conversations/${conversation}/items?limit=20`)).read).toBeLessThan(SOME)
})

test('Managed Agents: both ends of the list, a page in the middle, and the stream', async () => {
  const base = `/compat/anthropic/v1/sessions/sesn_${session}/events`
  expect((await first(base)).read).toBeLessThan(SOME)
  expect((await first(`${base}?order=desc`)).read).toBeLessThan(SOME)
  expect((await first(`${base}?page=${Math.floor(last / 2) * 1024}`)).read).toBeLessThan(SOME)
  expect((await first(`${base}/stream?after=${(last - 3) * 1024}`)).read).toBeLessThan(SOME)
})

test('A2A: a task, and the tasks of a context', async () => {
  const said = await service.store.events.read(session, last - 100, 100, ['user.message'])
  const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
  const path = '/compat/a2a/assistant'
  const id = `${session}-${said.at(-1)?.id}`
  expect((await first(path, rpc('GetTask', { id }))).read).toBeLessThan(SOME)
  // It counts the tasks of the context, from the few types by which they begin.
  const listed = await first(path, rpc('ListTasks', { contextId: session, pageSize: 3 }))
  expect(listed.read).toBeLessThan(EVENTS / 2)
})

test('AG-UI: the thread, and a new run', async () => {
  const base = '/compat/ag-ui/assistant'
  expect((await first(`${base}/threads/${session}`)).read).toBeLessThan(3 * SOME)
  const body = { threadId: session, runId: 'r', messages: [message('m1')] }
  const run = await first(base, body)
  expect([run.text, run.read < 3 * SOME]).toEqual([expect.stringContaining('RUN_STARTED'), true])
})

test('AG-UI: a thread of one long exchange is folded once', async () => {
  const id = await service.newSession()
  const deltas = Array.from({ length: 10 * BATCH }, (): Entry => ['llm.delta', { content: 'x' }])
  const entries: Entry[] = [
    said('a long answer'),
    ['llm.request', { model: 'm', turn_id: 't', iteration_index: 0 }],
    ...deltas,
  ]
  for (let at = 0; at < entries.length; at += BATCH)
    await service.store.commit({
      session_id: id,
      events: entries.slice(at, at + BATCH).map(([type, data]) => ({ type, data }) as EventDraft),
    })
  const thread = await first(`/compat/ag-ui/assistant/threads/${id}`)
  expect(thread.text.length).toBeGreaterThan(deltas.length)
  expect(thread.read).toBeLessThan(1.5 * entries.length)
})

test('AI SDK: the stored messages, and a new message', async () => {
  const base = '/compat/ai-sdk/chat'
  // Each of a hundred exchanges is read by itself.
  expect((await first(`${base}/${session}`)).read).toBeLessThan(4 * SOME)
  const body = { id: session, messages: [message('m2')], trigger: 'submit-message' }
  const sent = await first(base, body)
  expect([sent.text, sent.read < 3 * SOME]).toEqual([expect.stringContaining('start'), true])
})

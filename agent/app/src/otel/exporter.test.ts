/** Sending spans of a store to collectors that are down, slow, or refuse. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { setImmediate as soon } from 'node:timers/promises'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { writer } from '@cairn/protocol'
import { type LogStore } from '@cairn/log'
import { expect, onTestFinished, test } from 'vitest'
import { openCursor } from './cursor.ts'
import type { OtlpSpan } from './encode.ts'
import { startExporter } from './exporter.ts'
import { type Delivery, sendBatch } from './send.ts'

const messages = writer('messages')
const turn = writer('turn')
const lifecycle = writer('lifecycle')
const iteration = { turn_id: 't', iteration_index: 0 }
const response = turn('llm.response', {
  message: { role: 'assistant', content: 'Done.' },
  model: 'test/m',
  input_tokens: 1,
  output_tokens: 1,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  finish_reason: 'stop',
  context_window: 1000,
  ...iteration,
})
/** A turn gives two spans: the call of the model, and the turn. */
const TURN = [
  messages('user.message', { content: 'go' }),
  turn('llm.request', { model: 'test/m', ...iteration }),
  response,
  lifecycle('session.complete', { reason: 'completed' }),
]

type Sent = { spans: OtlpSpan[]; bodies: string[] }
const spansIn = (body: string): OtlpSpan[] =>
  (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }).resourceSpans.flatMap(
    ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
  )

async function openPlace() {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-otel-'))
  const store = await openStoreInProcess({ dir: join(dir, 'store') })
  onTestFinished(async () => {
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const { org_id } = await store.accounts.ensureFirstAdmin(
    { id: 'org', name: 'Org' },
    { id: 'admin', email: 'a@localhost', name: 'A' },
  )
  const file = join(dir, 'cursor.jsonl')
  return { store, org_id, file }
}
type Place = Awaited<ReturnType<typeof openPlace>>

async function newSession(store: LogStore, org_id: string, id: string): Promise<void> {
  await store.sessions.create({
    id,
    org_id,
    created_by: 'admin',
    created_by_kind: 'user',
    agent: 'assistant',
    channel: 'web',
    title: null,
    config: {},
  })
}

/** `deliver` decides each delivery; what it accepts is kept. */
function start({ store, org_id, file }: Place, deliver: (nth: number) => Delivery | Promise<Delivery>) {
  const sent: Sent = { spans: [], bodies: [] }
  const reports: string[] = []
  let count = 0
  const exporter = startExporter({
    store,
    org_id,
    cursor: openCursor(file, 0),
    options: { content: false, users: false },
    version: '1',
    send: async body => {
      count += 1
      const delivery = await deliver(count)
      if (delivery.outcome !== 'accepted') return delivery
      sent.bodies.push(body)
      sent.spans.push(...spansIn(body))
      return delivery
    },
    report: (level, message) => void reports.push(`${level}: ${message}`),
    now: Date.now,
    random: () => 0,
    // Time does not pass in the test: a pause only lets others run.
    sleep: async () => void (await soon()),
    intervalMs: 1,
  })
  return { exporter, sent, reports, count: () => count }
}
const OK: Delivery = { outcome: 'accepted', rejected: 0, why: '' }
const DOWN: Delivery = { outcome: 'retry', why: 'refused', afterMs: null }

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await soon()
}
const idsOf = (spans: readonly OtlpSpan[]): string[] => spans.map(span => `${span.traceId} ${span.spanId}`)

async function replay(place: Place, count: number): Promise<OtlpSpan[]> {
  const again = start({ ...place, file: `${place.file}.again` }, () => OK)
  await until(() => again.sent.spans.length >= count)
  await again.exporter.stop()
  return again.sent.spans
}
const sorted = (spans: readonly OtlpSpan[]): string[] => spans.map(span => JSON.stringify(span)).toSorted()

test('what a collector misses while it is down is sent when it is up, once, and as a replay sends it', async () => {
  const place = await openPlace()
  const { store, org_id } = place
  const { exporter, sent, reports, count } = start(place, nth => (nth <= 20 ? DOWN : OK))
  for (const id of ['a', 'b', 'c']) {
    await newSession(store, org_id, id)
    for (let turns = 0; turns < 3; turns++) await store.commit({ session_id: id, events: TURN })
  }
  await until(() => sent.spans.length >= 18)
  await exporter.stop()
  expect(count()).toBeGreaterThan(20)
  expect(new Set(idsOf(sent.spans)).size).toBe(18)
  expect(reports.filter(line => line.startsWith('warn'))).toHaveLength(1)
  expect(sorted(await replay(place, 18))).toEqual(sorted(sent.spans))
})

test('a process that stops at any delivery loses nothing and sends nothing twice', async () => {
  const place = await openPlace()
  const { store, org_id } = place
  await newSession(store, org_id, 'a')
  const seen: OtlpSpan[] = []
  for (let round = 0; round < 6; round++) {
    // Open spans cross the border of two processes: half of a turn is written before, half after.
    await store.commit({ session_id: 'a', events: TURN.slice(0, 2) })
    const first = start(place, () => OK)
    await store.commit({ session_id: 'a', events: TURN.slice(2) })
    await until(() => first.sent.spans.length >= 2)
    await first.exporter.stop()
    seen.push(...first.sent.spans)
  }
  expect(new Set(idsOf(seen)).size).toBe(12)
  expect(seen).toHaveLength(12)
  expect(sorted(await replay(place, 12))).toEqual(sorted(seen))
})

test('a batch that the collector refuses for good is reported and does not hold up the next one', async () => {
  const place = await openPlace()
  const { store, org_id } = place
  await newSession(store, org_id, 'a')
  const { exporter, sent, reports, count } = start(place, nth =>
    nth === 1 ? { outcome: 'refused', why: 'status 400' } : OK,
  )
  await store.commit({ session_id: 'a', events: TURN })
  await until(() => count() === 1)
  await store.commit({ session_id: 'a', events: TURN })
  await until(() => sent.spans.length === 2)
  await exporter.stop()
  expect(reports).toContainEqual(expect.stringMatching(/^error: .*refused a batch/))
})

test('stopping does not wait for a collector that does not answer', async () => {
  const place = await openPlace()
  await newSession(place.store, place.org_id, 'a')
  await place.store.commit({ session_id: 'a', events: TURN })
  const never = createServer(() => {})
  never.listen(0, '127.0.0.1')
  await once(never, 'listening')
  onTestFinished(() => {
    never.closeAllConnections()
    never.close()
  })
  const address = never.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const collector = { url, headers: {}, timeoutMs: 60_000 }
  const halt = new AbortController()
  const sending = sendBatch(collector, '{}', halt.signal)
  halt.abort()
  expect(await sending).toMatchObject({ outcome: 'retry' })
})

test.each([
  [
    200,
    '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"old"}}',
    { outcome: 'accepted', rejected: 2 },
  ],
  [200, '', { outcome: 'accepted', rejected: 0 }],
  [503, 'busy', { outcome: 'retry', afterMs: 7000 }],
  [400, 'bad', { outcome: 'refused', why: 'status 400: bad' }],
])('an answer with status %i and %j', async (status, text, expected) => {
  const collector = { url: 'http://collector', headers: { 'x-key': 'k' }, timeoutMs: 1000 }
  const answer = new Response(text, { status, headers: { 'retry-after': '7' } })
  const sent = await sendBatch(collector, '{}', new AbortController().signal, () => Promise.resolve(answer))
  expect(sent).toMatchObject(expected)
})

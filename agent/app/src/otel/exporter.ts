/**
 * Sends spans of the log to an OpenTelemetry collector. The log is the queue: nothing is recorded while a
 * turn runs, and a batch is composed only when the one before it has been accepted. So a collector that is
 * down or slow costs no memory and loses no span, and a turn never waits for one.
 */
import type { LogStore } from '@cairn/log'
import { asError, decodeEvent, EVENT_TYPES, type EventId } from '@cairn/protocol'
import { createTelemetryFold, foldTelemetry, type TelemetryFold, type TelemetryOptions } from '@cairn/state'
import type { Cursor, SessionCursor } from './cursor.ts'
import { encodeRequest, encodeSpan } from './encode.ts'
import type { Delivery } from './send.ts'

type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

export type ExporterOptions = {
  store: LogStore
  org_id: string
  cursor: Cursor
  options: TelemetryOptions
  version: string
  send: (body: string, stop: AbortSignal) => Promise<Delivery>
  report: Report
  now: () => number
  random: () => number
  /** Resolves after a time, or at once when `stop` aborts. */
  sleep: (ms: number, stop: AbortSignal) => Promise<void>
  /** Time between two looks at what is new. */
  intervalMs: number
}
export type Exporter = {
  /** Sends what has ended so far, once, as far as the collector accepts it. */
  stop(): Promise<void>
}

const MAX_SPANS = 512
const MAX_BYTES = 1024 * 1024
const PAGE = 500
/** Folds of sessions that are kept; another one is folded again from the last event at which it was at rest. */
const KEPT = 2_000
const MIN_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 60_000
const STOP_MS = 3_000
/** A session that never pauses is read after this time. */
const MAX_WAIT_MS = 30_000
const FOLDED = EVENT_TYPES.filter(type => type !== 'llm.delta' && type !== 'llm.heartbeat')

type Batch = { spans: string[]; bytes: number; cursors: Map<string, SessionCursor> }
type Followed = { fold: TelemetryFold; sent: EventId }

export function startExporter(given: ExporterOptions): Exporter {
  const { store, org_id, cursor, report, now, sleep, intervalMs } = given
  const halt = new AbortController()
  const pending = new Set<string>()
  const changes = watchChanges(given)
  const collector = createCollector(given)
  const deliver = createDelivery(given)

  async function sendPending(stop: AbortSignal): Promise<void> {
    while (pending.size > 0 && !stop.aborted) {
      const batch: Batch = { spans: [], bytes: 0, cursors: new Map() }
      // A session that changes while this runs goes into the next batch; otherwise this one might never end.
      const changed = [...pending]
      pending.clear()
      for (const [at, sessionId] of changed.entries()) {
        if (await collector.collect(sessionId, batch)) continue
        for (const later of changed.slice(at)) pending.add(later)
        break
      }
      if (batch.spans.length > 0 && !(await deliver(batch, stop))) {
        // What was collected is folded again from the saved cursor.
        for (const sessionId of batch.cursors.keys()) {
          collector.forget(sessionId)
          pending.add(sessionId)
        }
        return
      }
      if (batch.cursors.size > 0) cursor.save(batch.cursors)
    }
  }

  async function findChanged(): Promise<void> {
    for (let page: string | null | undefined; page !== null;) {
      const found = await store.sessions.list({
        org_id,
        since: cursor.readTo,
        sort: 'updated',
        limit: 200,
        ...(page === undefined ? {} : { cursor: page }),
      })
      for (const { id } of found.sessions) pending.add(id)
      page = found.next_cursor
    }
  }

  async function run(): Promise<void> {
    await findChanged()
    while (!halt.signal.aborted) {
      const began = now()
      try {
        for (const sessionId of changes.take(false)) pending.add(sessionId)
        const oldest = Math.min(began, changes.oldest())
        await sendPending(halt.signal)
        if (!halt.signal.aborted) cursor.saveTime(oldest)
      } catch (error) {
        report('error', 'cannot read spans for OpenTelemetry', { error: asError(error).message })
      }
      await sleep(intervalMs, halt.signal)
    }
  }

  const running = run()
  return {
    stop: async () => {
      changes.stop()
      halt.abort()
      await running
      for (const sessionId of changes.take(true)) pending.add(sessionId)
      await sendPending(AbortSignal.timeout(STOP_MS))
    },
  }
}

/** A streaming answer changes its session many times a second: it is read once, when it has paused. */
function watchChanges({ store, now, intervalMs }: ExporterOptions) {
  /** The times of the first and the last change that were not taken. */
  const changing = new Map<string, { first: number; last: number }>()
  const stop = store.sessions.watch(sessionId => {
    const at = now()
    const known = changing.get(sessionId)
    if (known === undefined) changing.set(sessionId, { first: at, last: at })
    else known.last = at
  })
  return {
    stop,
    oldest: () => [...changing.values()].reduce((oldest, { first }) => Math.min(oldest, first), Infinity),
    /** Takes the sessions that have paused, or all of them. */
    take: (all: boolean): string[] => {
      const at = now()
      const taken = [...changing].flatMap(([sessionId, { first, last }]) =>
        all || at - last >= intervalMs || at - first >= MAX_WAIT_MS ? [sessionId] : [],
      )
      for (const sessionId of taken) changing.delete(sessionId)
      return taken
    },
  }
}

type Collector = {
  /** Adds what a session has new. False if the batch is full before the end of the log. */
  collect(sessionId: string, batch: Batch): Promise<boolean>
  /** Drops what was folded and not sent. */
  forget(sessionId: string): void
}

function createCollector({ store, cursor, options }: ExporterOptions): Collector {
  const kept = new Map<string, Followed>()

  async function follow(sessionId: string): Promise<Followed | null> {
    const session = await store.sessions.get(sessionId)
    if (session === null) return null
    const saved = cursor.get(sessionId)
    const fold = createTelemetryFold({ id: sessionId, agent: session.agent }, options, saved?.rest)
    for (const [oldest] of kept) {
      if (kept.size < KEPT) break
      kept.delete(oldest)
    }
    return { fold, sent: saved?.sent ?? 0 }
  }

  return {
    forget: sessionId => void kept.delete(sessionId),
    collect: async (sessionId, batch) => {
      const followed = kept.get(sessionId) ?? (await follow(sessionId))
      if (followed === null) return true
      kept.delete(sessionId)
      kept.set(sessionId, followed)
      const { fold, sent } = followed
      for (let page = PAGE; page === PAGE;) {
        if (batch.spans.length >= MAX_SPANS || batch.bytes >= MAX_BYTES) return false
        const events = await store.events.read(sessionId, fold.spans.through, PAGE, FOLDED)
        page = events.length
        for (const { json } of events) {
          const event = decodeEvent(json)
          for (const span of foldTelemetry(fold, event)) {
            if (event.id <= sent || span.to < cursor.since) continue
            const text = JSON.stringify(encodeSpan(span))
            batch.spans.push(text)
            batch.bytes += text.length
          }
        }
        if (page > 0) batch.cursors.set(sessionId, { sent: fold.spans.through, rest: fold.rest })
      }
      return true
    },
  }
}

/** Resolves when the batch is accepted or refused for good; false if `stop` aborts before. */
function createDelivery({ send, report, sleep, random, version }: ExporterOptions) {
  let failures = 0

  function settle(delivery: Exclude<Delivery, { outcome: 'retry' }>, spans: number): void {
    if (failures > 0) report('info', 'the OpenTelemetry collector accepts spans again')
    failures = 0
    if (delivery.outcome === 'refused')
      report('error', 'the OpenTelemetry collector refused a batch; it is not sent again', {
        spans,
        why: delivery.why,
      })
    else if (delivery.rejected > 0) report('warn', 'the OpenTelemetry collector rejected spans', delivery)
  }

  return async (batch: Batch, stop: AbortSignal): Promise<boolean> => {
    const body = encodeRequest(batch.spans, resource(version), version)
    while (!stop.aborted) {
      const delivery = await send(body, stop)
      if (delivery.outcome !== 'retry') {
        settle(delivery, batch.spans.length)
        return true
      }
      if (stop.aborted) return false
      // One line for an outage, not one for each attempt.
      if (failures === 0)
        report('warn', 'cannot send spans to the OpenTelemetry collector; trying again', {
          why: delivery.why,
        })
      const full = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(failures, 10))
      failures += 1
      await sleep(delivery.afterMs ?? full * (0.5 + random() / 2), stop)
    }
    return false
  }
}

const resource = (version: string) => ({
  'service.name': 'cairn',
  'service.version': version,
  'telemetry.sdk.name': 'cairn',
  'telemetry.sdk.language': 'nodejs',
  'telemetry.sdk.version': version,
})

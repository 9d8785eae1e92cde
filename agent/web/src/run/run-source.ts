/**
 * The spans of a session and of its opened workers, live. A log that the page has read anyway is folded from
 * it; longer logs, and those of workers, are folded by the server, and the page adds the events that follow.
 */
import type { SessionEvent } from '@cairn/protocol'
import { type Spans, emptySpans } from '@cairn/state'
import { client } from '../api.ts'
import { followLog } from '../live/live.ts'
import type { Connection, FollowedSession } from '../session/followed-session.ts'
import { type SpanFolder, startSpanFolder } from './span-folder.ts'
import type { TableReport } from './span-tables.ts'

export type RunSource = {
  readonly session: string
  /** A new map whenever one of the tables changes. */
  readonly tables: ReadonlyMap<string, Spans>
  /** Epoch milliseconds of the newest event, of all sessions. */
  readonly at: number
  /** The time of the first token of the open model call of each session; 0 before it. */
  readonly firstTokens: ReadonlyMap<string, number>
  /** Whether the spans of the session itself are here. */
  readonly isReady: boolean
  /** Whether the session has had workers. */
  readonly hasWorkers: boolean
  readonly failure: unknown
  /** Failures to load workers. */
  readonly failed: ReadonlySet<string>
  readonly connection: Connection
  readonly revision: number
  subscribe(listener: () => void): () => void
  /** Begins to fold and to follow; returns a function that stops both. */
  start(): () => void
  /** Loads the log of a worker, and follows it. */
  load(worker: string): void
}

/** Events sent to the worker in one frame: sending copies them. */
const CHUNK = 600

export function createRun(log: FollowedSession, isWhole: boolean): RunSource {
  const { firstTokens, failed } = { firstTokens: new Map<string, number>(), failed: new Set<string>() }
  const asked = new Set<string>()
  const listeners = new Set<() => void>()
  let folder: SpanFolder | null = null
  let stops: (() => void)[] = []
  const state = {
    session: log.id,
    firstTokens,
    failed,
    tables: new Map() as ReadonlyMap<string, Spans>,
    at: 0,
    isReady: false,
    hasWorkers: false,
    failure: null as unknown,
    connection: 'connecting' as Connection,
    revision: 0,
  }

  function change(next: Partial<typeof state>): void {
    Object.assign(state, next, { revision: state.revision + 1 })
    for (const listener of listeners) listener()
  }
  function receive(report: TableReport): void {
    const tables = new Map(state.tables).set(report.session, merged(state.tables.get(report.session), report))
    firstTokens.set(report.session, report.firstTokenAt)
    const hasWorkers = state.hasWorkers || report.facts.some(([, { session_id }]) => session_id !== undefined)
    change({ tables, hasWorkers, at: Math.max(state.at, report.at), isReady: tables.has(log.id) })
  }
  function setConnection(connection: Connection, failure: unknown): void {
    if (state.connection !== connection || state.failure !== failure) change({ connection, failure })
  }
  function fail(worker: string): void {
    failed.add(worker)
    asked.delete(worker)
    change({})
  }
  async function fromServer(session: string, onState: typeof setConnection): Promise<void> {
    const started = folder
    const table = await client.call('sessionSpans', { params: { id: session }, query: {} })
    // The view was left, or opened again, while the table was on its way.
    if (started === null || folder !== started) return
    started.send({ kind: 'begin', session, table })
    stops.push(
      followLog(session, table.through_event_id, {
        onItems: events => started.send({ kind: 'add', session, events }),
        onState: connection => onState(connection, null),
        onFailed: error => onState('failed', error),
      }),
    )
  }
  function start(): () => void {
    const started = (folder = startSpanFolder(receive))
    const note = () => setConnection(log.connection, log.failure)
    if (isWhole) {
      note()
      const send = (events: SessionEvent[]) => started.send({ kind: 'add', session: log.id, events })
      stops.push(log.subscribe(note), sendLog(log, send))
    } else fromServer(log.id, setConnection).catch((error: unknown) => setConnection('failed', error))
    return () => {
      for (const stop of stops) stop()
      stops = []
      asked.clear()
      started.end()
      folder = null
    }
  }
  return Object.assign(state, {
    start,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    load(worker: string) {
      if (asked.has(worker)) return
      asked.add(worker)
      fromServer(worker, connection => connection === 'failed' && fail(worker)).catch(() => fail(worker))
    },
  })
}

/** Sends the events of a log that the page reads, some each frame, and then those that arrive. */
function sendLog({ index, subscribe }: FollowedSession, send: (events: SessionEvent[]) => void): () => void {
  let sent = 0
  let frame = 0
  function step(): void {
    frame = 0
    const end = Math.min(index.events.length, sent + CHUNK)
    // An empty batch tells that the log is being read.
    if (end > sent || sent === 0) send(index.events.slice(sent, end))
    sent = end
    if (sent < index.events.length) request()
  }
  function request(): void {
    if (frame === 0) frame = requestAnimationFrame(step)
  }
  step()
  const stop = subscribe(() => {
    if (index.events.length > sent) request()
  })
  return () => {
    stop()
    cancelAnimationFrame(frame)
  }
}

/** A new table for each report, so that what depends on it is computed again. Texts are added in place. */
function merged(known: Spans | undefined, report: TableReport): Spans {
  const { names, objects, facts } = known ?? emptySpans(1)
  names.length = report.textsFrom
  objects.length = report.textsFrom
  for (const name of report.names) names.push(name)
  for (const object of report.objects) objects.push(object)
  for (const [span, one] of report.facts) facts.set(span, one)
  return { count: report.count, ...report.columns, names, objects, facts }
}

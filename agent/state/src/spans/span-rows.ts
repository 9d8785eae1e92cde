/**
 * The rows of a run: turns, their steps, and the steps of opened workers, to any depth. Neighbouring calls of
 * one read-only tool, without a model call between them, are one row. Pure.
 */
import { toolWords } from '../tool-words.ts'
import { hasFlag, kindNumber, type Spans } from './spans.ts'

export type SpanRow = {
  /** Stable while the log grows: the session and the event that starts the row. */
  key: string
  /** The session whose table has the span. */
  session: string
  span: number
  /** The last span of a group; the span itself otherwise. */
  last: number
  /** Calls in a group; 1 otherwise. */
  count: number
  level: number
  /** Whether the row has rows of its own, and shows them; null if it cannot have any. */
  isOpen: boolean | null
}

export type RowOptions = {
  session: string
  tables: ReadonlyMap<string, Spans>
  /** Whether a row was opened or closed; undefined: neither. */
  isOpen: (key: string) => boolean | undefined
  /** Whether a step matches the filter; null if there is none. */
  matches: ((spans: Spans, span: number) => boolean) | null
}

/** Above this number of rows, turns start closed. */
export const MANY_ROWS = 300

export const rowKey = (session: string, spans: Spans, span: number): string =>
  `${session}:${spans.event[span] ?? 0}`
const groupKey = (session: string, spans: Spans, span: number): string => `${rowKey(session, spans, span)}+`

const TURN = kindNumber('turn')
const MARK = kindNumber('mark')
const WORKER = kindNumber('worker')
const CALLS: ReadonlySet<number> = new Set([kindNumber('tool'), kindNumber('browser')])

/** Tools that only read, whose calls need no row each. */
const READS: ReadonlySet<string> = new Set([
  'read_file',
  'list_files',
  'search_files',
  'web_fetch',
  'read_worker_result',
  'browser_snapshot',
  'browser_find',
  'browser_take_screenshot',
  'browser_wait_for',
  'browser_console_messages',
  'browser_network_requests',
])

/** The group of a call, or null if it has a row of its own. */
function groupOf(spans: Spans, span: number): string | null {
  const name = spans.names[span] ?? ''
  if (!CALLS.has(spans.kind[span] ?? 0) || !READS.has(name)) return null
  return toolWords(name, {}).group?.id ?? null
}

export function rowsOfRun(options: RowOptions): SpanRow[] {
  const rows: SpanRow[] = []
  const spans = options.tables.get(options.session)
  if (spans !== undefined) addSession(rows, options, options.session, 0)
  return rows
}

function addSession(rows: SpanRow[], options: RowOptions, session: string, level: number): void {
  const { tables, matches } = options
  const spans = tables.get(session)
  if (spans === undefined) return
  const turnsAreOpen = spans.count <= MANY_ROWS
  const newest = newestTurn(spans)
  const isSingleTurn = level > 0 && spans.count > 0 && newest === 0
  for (let span = 0; span < spans.count; span++) {
    if ((spans.parent[span] ?? -1) !== -1) continue
    const next = nextTurn(spans, span)
    if (spans.kind[span] !== TURN) {
      addSteps(rows, options, session, { first: span, end: span + 1, parent: -1, level })
      continue
    }
    // A worker of one turn shows its steps, without a row for the turn.
    if (isSingleTurn) {
      addSteps(rows, options, session, { first: 1, end: spans.count, parent: 0, level })
      continue
    }
    const key = rowKey(session, spans, span)
    const steps: SpanRow[] = []
    const isOpen = options.isOpen(key) ?? (turnsAreOpen || matches !== null || span === newest)
    if (isOpen)
      addSteps(steps, options, session, { first: span + 1, end: next, parent: span, level: level + 1 })
    if (matches !== null && isOpen && steps.length === 0) continue
    rows.push({ key, session, span, last: span, count: 1, level, isOpen })
    for (const step of steps) rows.push(step)
  }
}

function newestTurn(spans: Spans): number {
  for (let span = spans.count - 1; span >= 0; span--) if (spans.kind[span] === TURN) return span
  return -1
}

/** The position of the turn after this one. */
function nextTurn(spans: Spans, from: number): number {
  for (let span = from + 1; span < spans.count; span++) if (spans.kind[span] === TURN) return span
  return spans.count
}

type Range = { first: number; end: number; parent: number; level: number }

function addSteps(rows: SpanRow[], options: RowOptions, session: string, range: Range): void {
  const spans = options.tables.get(session)
  if (spans === undefined) return
  const { first, end, parent, level } = range
  const isRow = (span: number): boolean =>
    spans.parent[span] === parent &&
    spans.kind[span] !== MARK &&
    !(hasFlag(spans, span, 'replaced') && !hasFlag(spans, span, 'failed')) &&
    (options.matches === null || options.matches(spans, span))
  for (let span = first; span < end; span++) {
    if (!isRow(span)) continue
    const group = groupOf(spans, span)
    const calls = group === null ? [span] : callsOf(spans, group, { span, end, isRow })
    const last = calls.at(-1) ?? span
    if (calls.length === 1) addStep(rows, options, session, { span, level })
    else {
      const key = groupKey(session, spans, span)
      const isOpen = options.isOpen(key) ?? false
      rows.push({ key, session, span, last, count: calls.length, level, isOpen })
      if (isOpen) for (const call of calls) addStep(rows, options, session, { span: call, level: level + 1 })
    }
    span = last
  }
}

/** The calls of a group, from its first on. */
function callsOf(
  spans: Spans,
  group: string,
  { span, end, isRow }: { span: number; end: number; isRow: (span: number) => boolean },
): number[] {
  const calls = [span]
  for (let next = span + 1; next < end && groupOf(spans, next) === group; next++)
    if (isRow(next)) calls.push(next)
  return calls
}

function addStep(
  rows: SpanRow[],
  options: RowOptions,
  session: string,
  { span, level }: { span: number; level: number },
): void {
  const spans = options.tables.get(session)
  if (spans === undefined) return
  const key = rowKey(session, spans, span)
  const isWorker = spans.kind[span] === WORKER
  const isOpen = isWorker ? (options.isOpen(key) ?? false) : null
  rows.push({ key, session, span, last: span, count: 1, level, isOpen })
  const child = isOpen === true ? spans.facts.get(span)?.session_id : undefined
  if (child !== undefined) addSession(rows, options, child, level + 1)
}

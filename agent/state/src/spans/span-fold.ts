/** The state of the fold of spans, and how spans begin and end in it. */
import { clip, oneLine, type SessionEvent, type SpanFacts, type SpanKind } from '@cairn/protocol'
import {
  clearFlag,
  emptySpans,
  grow,
  hasFlag,
  isOpen,
  kindNumber,
  kindOf,
  setFlag,
  type Spans,
} from './spans.ts'

export type SpanFold = {
  readonly spans: Spans
  /** The last folded event. */
  through: number
  /** Epoch milliseconds of the last folded event. */
  at: number
  /** The newest turn; -1 before the first. */
  turn: number
  /** Epoch milliseconds of the first token of the open model call; 0 before it. */
  firstTokenAt: number
  /** Spans by what ends them. Ended spans stay until their turn ends, for outcomes that come late. */
  readonly open: Map<string, number>
}

export const emptySpanFold = (): SpanFold => ({
  spans: emptySpans(),
  through: 0,
  at: 0,
  turn: -1,
  firstTokenAt: 0,
  open: new Map(),
})

const OBJECT_CHARS = 100
export const shorten = (text: string): string => clip(oneLine(text, OBJECT_CHARS), OBJECT_CHARS)

export type NewSpan = { kind: SpanKind; name: string; object: string; event: SessionEvent; from?: number }

/** Adds an open span, and returns its position. Without a key nothing ends it but its turn. */
export function beginSpan(fold: SpanFold, key: string | null, given: NewSpan): number {
  const { spans, turn } = fold
  if (key !== null) replaceOpen(fold, key, given.event.id)
  grow(spans)
  const span = spans.count
  const isTurn = given.kind === 'turn'
  const parent = !isTurn && turn !== -1 && isWorking(fold) ? turn : -1
  spans.from[span] = given.from ?? fold.at
  spans.to[span] = Number.NaN
  spans.event[span] = given.event.id
  spans.last[span] = given.event.id
  spans.parent[span] = parent
  spans.kind[span] = kindNumber(given.kind)
  spans.depth[span] = parent === -1 ? 0 : 1
  spans.flags[span] = 0
  spans.first[span] = 0
  spans.names.push(given.name)
  spans.objects.push(shorten(given.object))
  spans.count += 1
  if (key !== null) fold.open.set(key, span)
  return span
}

/** A step that starts again without having ended, as after a death of its runner, is a new span. */
function replaceOpen(fold: SpanFold, key: string, event: number): void {
  const span = fold.open.get(key)
  if (span === undefined || !isOpen(fold.spans, span)) return
  setFlag(fold.spans, span, 'interrupted')
  endSpan(fold, span, fold.at, event)
}

/** Ends a span unless it has ended. Its turn ends with it, if the turn was waiting for it. */
export function endSpan(fold: SpanFold, span: number, at: number, event: number): void {
  const { spans } = fold
  spans.last[span] = event
  if (!isOpen(spans, span)) return
  spans.to[span] = Math.max(at, spans.from[span] ?? at)
  const parent = spans.parent[span] ?? -1
  if (parent !== -1 && hasFlag(spans, parent, 'ended')) settle(fold, parent, event)
}

/** Whether the newest turn's own work continues. */
export const isWorking = ({ spans, turn }: SpanFold): boolean =>
  turn !== -1 && isOpen(spans, turn) && !hasFlag(spans, turn, 'ended')

/** Ends a turn whose work has ended, once nothing in it is open. */
export function settle(fold: SpanFold, turn: number, event: number): void {
  const { spans, open } = fold
  for (const span of open.values()) if (spans.parent[span] === turn && isOpen(spans, span)) return
  spans.last[turn] = event
  spans.to[turn] = fold.at
  clearFlag(spans, turn, 'ended')
}

const RUNS: ReadonlySet<SpanKind> = new Set(['model', 'tool', 'browser'])

/** Ends every open call: the runner does not work on it any more. Its key stays, for a late outcome. */
export function interrupt(fold: SpanFold, at: number, event: number): void {
  const { spans, open } = fold
  for (const span of open.values()) {
    if (!isOpen(spans, span) || !RUNS.has(kindOf(spans, span))) continue
    setFlag(spans, span, 'interrupted')
    endSpan(fold, span, at, event)
  }
}

/** Ends the span of a key, if there is one. */
export function closeKey(fold: SpanFold, key: string, event: SessionEvent, isFailed = false): void {
  const span = fold.open.get(key)
  if (span === undefined) return
  fold.open.delete(key)
  clearFlag(fold.spans, span, 'interrupted')
  if (isFailed) setFlag(fold.spans, span, 'failed')
  endSpan(fold, span, fold.at, event.id)
}

export const addFacts = (spans: Spans, span: number, facts: SpanFacts): void =>
  void spans.facts.set(span, { ...spans.facts.get(span), ...facts })

/**
 * Spans in columns of numbers: 32 bytes a span, so that a run of 100,000 events is some megabytes. The
 * columns grow by doubling. A span is a position; positions are in the order of the starts, because a log is.
 */
import { SPAN_FLAGS, SPAN_KINDS, type SpanFacts, type SpanFlag, type SpanKind } from '@cairn/protocol'

export type Spans = {
  /** Number of spans. The columns are longer. */
  count: number
  /** Epoch milliseconds. An open span ends at NaN. */
  from: Float64Array<ArrayBuffer>
  to: Float64Array<ArrayBuffer>
  /** The events that started and ended the span. */
  event: Uint32Array<ArrayBuffer>
  last: Uint32Array<ArrayBuffer>
  /** Position of the turn; -1 for a span outside of turns. */
  parent: Int32Array<ArrayBuffer>
  kind: Uint8Array<ArrayBuffer>
  depth: Uint8Array<ArrayBuffer>
  flags: Uint8Array<ArrayBuffer>
  /** The part of a model call before its first token, in 255ths of the duration. */
  first: Uint8Array<ArrayBuffer>
  names: string[]
  objects: string[]
  facts: Map<number, SpanFacts>
}

/** Bytes of a span in all columns of numbers. */
export const SPAN_BYTES = 8 + 8 + 4 + 4 + 4 + 1 + 1 + 1 + 1
const MIN_CAPACITY = 256

export const emptySpans = (capacity = MIN_CAPACITY): Spans => ({
  count: 0,
  from: new Float64Array(capacity),
  to: new Float64Array(capacity),
  event: new Uint32Array(capacity),
  last: new Uint32Array(capacity),
  parent: new Int32Array(capacity),
  kind: new Uint8Array(capacity),
  depth: new Uint8Array(capacity),
  flags: new Uint8Array(capacity),
  first: new Uint8Array(capacity),
  names: [],
  objects: [],
  facts: new Map(),
})

/** The columns of numbers, by name. */
export const COLUMNS = ['from', 'to', 'event', 'last', 'parent', 'kind', 'depth', 'flags', 'first'] as const

/** Makes room for one more span. */
export function grow(spans: Spans): void {
  const capacity = spans.from.length
  if (spans.count < capacity) return
  const larger = emptySpans(capacity * 2)
  for (const name of COLUMNS) {
    larger[name].set(spans[name])
    Object.assign(spans, { [name]: larger[name] })
  }
}

const NUMBER_OF_KIND = Object.fromEntries(SPAN_KINDS.map((kind, at) => [kind, at])) as Record<
  SpanKind,
  number
>
export const kindNumber = (kind: SpanKind): number => NUMBER_OF_KIND[kind]
export const kindOf = (spans: Spans, span: number): SpanKind => SPAN_KINDS[spans.kind[span] ?? 0] ?? 'tool'
export const hasFlag = (spans: Spans, span: number, flag: SpanFlag): boolean =>
  ((spans.flags[span] ?? 0) & SPAN_FLAGS[flag]) !== 0
export const setFlag = (spans: Spans, span: number, flag: SpanFlag): void => {
  spans.flags[span] = (spans.flags[span] ?? 0) | SPAN_FLAGS[flag]
}
export const clearFlag = (spans: Spans, span: number, flag: SpanFlag): void => {
  spans.flags[span] = (spans.flags[span] ?? 0) & ~SPAN_FLAGS[flag]
}
export const isOpen = (spans: Spans, span: number): boolean => Number.isNaN(spans.to[span])

/** The end of a span; `now` if it is open. Never before its start. */
export const endOf = (spans: Spans, span: number, now: number): number =>
  isOpen(spans, span) ? Math.max(now, spans.from[span] ?? now) : (spans.to[span] ?? now)

/** The last span that started at or before an event; -1 if there is none. */
function spanBefore(spans: Spans, event: number): number {
  let low = 0
  let high = spans.count
  while (low < high) {
    const middle = (low + high) >> 1
    if ((spans.event[middle] ?? 0) <= event) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** How far `spanOfEvent` looks back: calls that run in parallel end in another order than they started. */
const REACH = 64

/**
 * The span that an event belongs to: the one it started or ended, else the innermost one that it is inside,
 * else the one before it. -1 for an event before the first span.
 */
export function spanOfEvent(spans: Spans, event: number): number {
  const before = spanBefore(spans, event)
  let inside = -1
  for (let span = before; span >= Math.max(0, before - REACH); span--) {
    if (hasFlag(spans, span, 'replaced')) continue
    const isStep = (spans.depth[span] ?? 0) > 0
    if (spans.event[span] === event || (isStep && spans.last[span] === event)) return span
    if (inside === -1 && isStep && (spans.last[span] ?? 0) > event) inside = span
  }
  return inside === -1 ? before : inside
}

/** The fold of spans as the record of the API, and back. */
import type { SpanTable } from '@cairn/protocol'
import { emptySpanFold, type SpanFold } from './span-fold.ts'
import { emptySpans, endOf, grow, type Spans } from './spans.ts'

/** A part of a table: the spans that overlap a stretch of time, down to a depth. */
export type SpanWindow = { from?: number | undefined; to?: number | undefined; depth?: number | undefined }

export function packSpans(sessionId: string, fold: SpanFold, window: SpanWindow = {}): SpanTable {
  const { spans } = fold
  const isWhole = window.from === undefined && window.to === undefined && window.depth === undefined
  const kept = isWhole ? null : spansIn(spans, window)
  const position = new Map(kept?.map((span, at) => [span, at]))
  const placeOf = (span: number): number => (kept === null ? span : (position.get(span) ?? -1))
  const startedAt = spans.count === 0 ? 0 : (spans.from[0] ?? 0)
  const take = <T>(read: (span: number) => T): T[] =>
    kept === null ? Array.from({ length: spans.count }, (_, span) => read(span)) : kept.map(read)
  return {
    session_id: sessionId,
    through_event_id: fold.through,
    started_at: startedAt,
    from: take(span => (spans.from[span] ?? 0) - startedAt),
    to: take(span => (Number.isNaN(spans.to[span]) ? null : (spans.to[span] ?? 0) - startedAt)),
    kind: take(span => spans.kind[span] ?? 0),
    depth: take(span => spans.depth[span] ?? 0),
    parent: take(span => placeOf(spans.parent[span] ?? -1)),
    event: take(span => spans.event[span] ?? 0),
    last_event: take(span => spans.last[span] ?? 0),
    flags: take(span => spans.flags[span] ?? 0),
    first: take(span => spans.first[span] ?? 0),
    names: take(span => spans.names[span] ?? ''),
    objects: take(span => spans.objects[span] ?? ''),
    facts: [...spans.facts].flatMap(([span, facts]) => {
      const at = placeOf(span)
      return at === -1 ? [] : [[at, facts]]
    }),
    resume: isWhole
      ? { at: fold.at, turn: fold.turn, first_token_at: fold.firstTokenAt, open: [...fold.open] }
      : null,
  }
}

/** A turn is in the window if a span of it is, because it covers all of its spans. */
function spansIn(spans: Spans, { from = -Infinity, to = Infinity, depth = Infinity }: SpanWindow): number[] {
  const found: number[] = []
  for (let span = 0; span < spans.count; span++) {
    if ((spans.depth[span] ?? 0) > depth) continue
    if ((spans.from[span] ?? 0) <= to && endOf(spans, span, Infinity) >= from) found.push(span)
  }
  return found
}

/** The fold that continues from a record. A record of a part of the table cannot be continued. */
export function unpackSpans(table: SpanTable): SpanFold {
  const { resume, started_at: startedAt } = table
  const count = table.from.length
  const spans = emptySpans(Math.max(1, count))
  spans.count = count
  for (let span = 0; span < count; span++) {
    const to = table.to[span] ?? null
    spans.from[span] = startedAt + (table.from[span] ?? 0)
    spans.to[span] = to === null ? Number.NaN : startedAt + to
  }
  spans.event.set(table.event)
  spans.last.set(table.last_event)
  spans.parent.set(table.parent)
  spans.kind.set(table.kind)
  spans.depth.set(table.depth)
  spans.flags.set(table.flags)
  spans.first.set(table.first)
  spans.names = [...table.names]
  spans.objects = [...table.objects]
  spans.facts = new Map(table.facts)
  grow(spans)
  return {
    ...emptySpanFold(),
    spans,
    through: table.through_event_id,
    at: resume?.at ?? 0,
    turn: resume?.turn ?? -1,
    firstTokenAt: resume?.first_token_at ?? 0,
    open: new Map(resume?.open),
  }
}

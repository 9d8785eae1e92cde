/** The selected step, and the steps that keys lead to from it. Pure. */
import { hasFlag, kindOf, type SpanRow, spanOfEvent, type Spans } from '@cairn/state'

/** A step by the event that belongs to it, in the log of a session. */
export type Selection = { session: string; event: number }

type Tables = ReadonlyMap<string, Spans>

/** The span of a selection; -1 while its log is not here. */
export function spanOfSelection(tables: Tables, { session, event }: Selection): number {
  const spans = tables.get(session)
  return spans === undefined ? -1 : spanOfEvent(spans, event)
}

/** The position of the row that shows a selection; -1 if it is folded away. */
export function rowOfSelection(rows: readonly SpanRow[], tables: Tables, selection: Selection): number {
  const span = spanOfSelection(tables, selection)
  if (span === -1) return -1
  // A call in an opened group has a row of its own, after that of the group.
  const isExact = (row: SpanRow): boolean =>
    row.session === selection.session && row.span === span && row.count === 1
  const exact = rows.findIndex(isExact)
  if (exact !== -1) return exact
  return rows.findIndex(
    row => row.session === selection.session && row.count > 1 && row.span <= span && row.last >= span,
  )
}

/** The next or previous failed step of the session, also if it is folded away; null if there is none. */
export function failureFrom(spans: Spans, event: number, step: 1 | -1): number | null {
  const isFailure = (span: number): boolean =>
    hasFlag(spans, span, 'failed') && kindOf(spans, span) !== 'turn' && kindOf(spans, span) !== 'mark'
  const start = event === 0 ? (step === 1 ? -1 : spans.count) : spanOfEvent(spans, event)
  for (let span = start + step; span >= 0 && span < spans.count; span += step)
    if (isFailure(span)) return spans.event[span] ?? null
  return null
}

export function countFailures(spans: Spans): number {
  let count = 0
  for (let span = 0; span < spans.count; span++) {
    const kind = kindOf(spans, span)
    if (kind !== 'turn' && kind !== 'mark' && hasFlag(spans, span, 'failed')) count += 1
  }
  return count
}

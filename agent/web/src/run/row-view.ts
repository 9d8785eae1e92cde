/** Everything that a row shows, computed for the visible rows only. Pure. */
import { endOf, hasFlag, isOpen, kindOf, type SpanRow, type Spans } from '@cairn/state'
import type { SpanKind } from '@cairn/protocol'
import { formatDuration } from '../format.ts'
import type { Chip } from '../tools/tool-line.ts'
import { runWords } from '../words/run.ts'
import { chipsOf, noteOf, type RowText, sentenceOf, textOfRow } from './span-text.ts'
import { endOfTurn, turnFacts, turnNumber } from './turn-facts.ts'
import type { Run } from './use-run.ts'

export type BarView = {
  /** Positions on the axis; the end is null while the span is open. */
  from: number
  to: number | null
  kind: SpanKind
  isFailed: boolean
}
export type MarkView = { at: number; word: string; isFailed: boolean; type: string }
export type RowView = Shown & {
  /** All of it as text: two views with the same text look the same. */
  shown: string
}

type Shown = {
  key: string
  position: number
  level: number
  isOpen: boolean | null
  isSelected: boolean
  kind: SpanKind
  text: RowText
  sentence: string
  duration: string
  isRunning: boolean
  bars: readonly BarView[]
  /** The end of the time before the first token; null: it is not known. */
  token: number | null
  chips: readonly Chip[]
  note: string
  /** The labels are before the bar, because the room behind it is too small. */
  isFlipped: boolean
  decision: 'approved' | 'rejected' | null
  marks: readonly MarkView[]
  /** A closed turn shows its steps as a strip. */
  strip: { session: string; span: number; drawn: string } | null
  state: 'loading' | 'failed' | null
}

/** Maximum number of ticks of a group; more are drawn as one bar. */
const MAX_TICKS = 40
/** Bars that end after this part of the visible axis have their labels before them. */
const FLIP_FROM = 0.8

export function viewOfRow(run: Run, row: SpanRow, position: number): RowView {
  const { source, axis, now, viewport } = run
  const spans = source.tables.get(row.session)
  if (spans === undefined) throw new Error(`[viewOfRow] no spans of session ${row.session}`)
  const { span } = row
  const kind = kindOf(spans, span)
  const start = spans.from[span] ?? 0
  const end = endOf(spans, row.last, now)
  const text = textOfRow(spans, row, kind === 'turn' ? turnNumber(spans, span) : 0)
  const isRunning = isOpen(spans, row.last)
  const durationMs = kind === 'turn' && run.mode === 'active' ? axis.active(start, end) : end - start
  const marks = kind === 'turn' ? marksOf(run, spans, span) : []
  const { port } = viewport
  const edge = (axis.at(end) - port.from) / port.width
  const view: Shown = {
    key: row.key,
    position,
    level: row.level,
    isOpen: row.isOpen,
    isSelected: position === run.position,
    kind,
    text,
    sentence: runWords.sentence([
      sentenceOf(spans, row, text, { durationMs, elapsedMs: Math.max(0, start - axis.from) }),
      ...marks.map(({ word }) => word),
    ]),
    duration: formatDuration(isRunning && run.isLive ? Math.floor(durationMs / 1000) * 1000 : durationMs),
    isRunning: isRunning && run.isAlive,
    bars: barsOf(run, spans, row),
    token: tokenOf(run, spans, row),
    chips: chipsOf(spans, row),
    note: noteOf(spans, span, now),
    isFlipped: edge > FLIP_FROM,
    decision: hasFlag(spans, span, 'approved')
      ? 'approved'
      : hasFlag(spans, span, 'rejected')
        ? 'rejected'
        : null,
    marks,
    strip: kind === 'turn' && row.isOpen === false ? stripOf(run, spans, row) : null,
    state: kind === 'worker' && row.isOpen === true ? stateOfWorker(run, spans, span) : null,
  }
  return { ...view, shown: JSON.stringify(view) }
}

/** The strip changes with the steps of the turn, and with the breaks of the axis. */
function stripOf({ axis, now }: Run, spans: Spans, { session, span }: SpanRow): RowView['strip'] {
  const end = isOpen(spans, span) ? now : (spans.to[span] ?? now)
  const drawn = [endOfTurn(spans, span), end, axis.from, axis.breaks.length, axis.breakMs].join(' ')
  return { session, span, drawn }
}

function barsOf({ axis }: Run, spans: Spans, { span, last, count }: SpanRow): BarView[] {
  const bar = (from: number, to: number): BarView => ({
    from: axis.at(spans.from[from] ?? 0),
    to: isOpen(spans, to) ? null : axis.at(spans.to[to] ?? 0),
    kind: kindOf(spans, from),
    isFailed: count === 1 && hasFlag(spans, from, 'failed'),
  })
  if (count === 1) return [bar(span, span)]
  if (last - span >= MAX_TICKS) return [bar(span, last)]
  return Array.from({ length: last - span + 1 }, (_, at) => bar(span + at, span + at))
}

function tokenOf({ axis, source }: Run, spans: Spans, { span, session }: SpanRow): number | null {
  if (kindOf(spans, span) !== 'model') return null
  const from = spans.from[span] ?? 0
  const share = (spans.first[span] ?? 0) / 255
  if (!isOpen(spans, span))
    return share === 0 ? null : axis.at(from + share * ((spans.to[span] ?? from) - from))
  const token = source.firstTokens.get(session) ?? 0
  return token > from ? axis.at(token) : Infinity
}

function marksOf({ axis }: Run, spans: Spans, turn: number): MarkView[] {
  const words: Readonly<Record<string, string>> = runWords.marks
  return (turnFacts(spans).marks.get(turn) ?? []).map(mark => ({
    at: axis.at(spans.from[mark] ?? 0),
    type: spans.names[mark] ?? '',
    word: runWords.mark(words[spans.names[mark] ?? ''] ?? '', spans.objects[mark] ?? ''),
    isFailed: hasFlag(spans, mark, 'failed'),
  }))
}

function stateOfWorker({ source }: Run, spans: Spans, span: number): RowView['state'] {
  const worker = spans.facts.get(span)?.session_id
  if (worker === undefined || source.tables.has(worker)) return null
  return source.failed.has(worker) ? 'failed' : 'loading'
}

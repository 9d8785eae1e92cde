/**
 * One row of the EVENTS grid: an event, the head of a turn, or a gap of pruned ids. Rows are rendered often,
 * so they have no hooks and no state.
 */
import { memo } from 'react'
import type { SessionEvent } from '@cairn/protocol'
import {
  formatClock,
  formatCount,
  formatDelta,
  formatDuration,
  formatSpent,
  formatTokens,
} from '../format.ts'
import { AlertIcon, ClockIcon } from '../ui/icons.tsx'
import { familyOfAny } from './filter.ts'
import { factsOf, isHeld, summarize, toolError } from '@cairn/protocol'
import type { TurnSums } from './turn-sums.ts'
import { eventsWords } from '../words/events.ts'

export const rowId = (rowKey: number) => `row-${rowKey}`

type RowPosition = { rowKey: number; rowIndex: number; top: number; isActive: boolean }
const place = ({ rowKey, rowIndex, isActive }: RowPosition) =>
  ({
    id: rowId(rowKey),
    role: 'row',
    'data-key': rowKey,
    'aria-rowindex': rowIndex + 2,
    'aria-selected': isActive,
  }) as const
const at = (top: number) => ({ transform: `translateY(${top}px)` })

type Level = 'alarm' | 'recovered' | 'failed' | 'waiting'

/** The mark of an event: `failed` for a failed tool or step, `waiting` for a call that needs approval. */
function levelOf(event: SessionEvent, isWaiting: boolean): Level | undefined {
  if (isWaiting) return 'waiting'
  if (event.type === 'harness.recovered') return 'recovered'
  if (factsOf(event.type).alarm) return 'alarm'
  const isFailed =
    event.type === 'tool.result' &&
    typeof event.data.content === 'string' &&
    toolError(event.data.content) !== null &&
    !isHeld(event.data.content)
  return isFailed || /\.(failed|failure|denied|step_failed)$/.test(event.type) ? 'failed' : undefined
}

export const EventRow = memo(function EventRow({
  event,
  afterMs,
  folded,
  isWaiting,
  ...rest
}: RowPosition & {
  event: SessionEvent
  afterMs: number | null
  /** Number of chunks of its answer. */
  folded: number
  /** Its call waits for approval. */
  isWaiting: boolean
}) {
  const level = levelOf(event, isWaiting)
  return (
    <div
      className="event-row"
      {...place(rest)}
      style={at(rest.top)}
      data-event-id={event.id}
      data-event-type={event.type}
      data-family={familyOfAny(event.type)}
      data-level={level}
    >
      <span role="gridcell" className="cell-id">
        {event.id}
      </span>
      <span role="gridcell" className="cell-time">
        {formatClock(event.created_at)}
      </span>
      <span role="gridcell" className="cell-after" data-slow={(afterMs ?? 0) >= 10_000 || undefined}>
        {afterMs === null ? '' : formatDelta(afterMs)}
      </span>
      <span role="gridcell" className="cell-type">
        {level === 'waiting' ? <ClockIcon /> : level !== undefined && <AlertIcon />}
        {event.type}
      </span>
      <span role="gridcell" className="cell-summary">
        {summarize(event)}
        {folded > 0 && <span className="faint"> · {eventsWords.deltas(folded)}</span>}
      </span>
    </div>
  )
})

export const GapRow = memo(function GapRow({
  from,
  through,
  ...rest
}: RowPosition & { from: number; through: number }) {
  const removed =
    from === through
      ? eventsWords.removedOne(formatCount(from))
      : eventsWords.removedMany(formatCount(from), formatCount(through))
  return (
    <div className="gap-row" {...place(rest)} style={at(rest.top)} data-testid="gap-row">
      <span role="gridcell" aria-colspan={5}>
        {removed} <span className="faint">{eventsWords.removedWhy}</span>
      </span>
    </div>
  )
})

/** `lastId` triggers a render, because the sums change in place. */
export const TurnRow = memo(function TurnRow({
  turn,
  open,
  ...rest
}: RowPosition & { turn: TurnSums; lastId: number; /** What a turn without an end does. */ open: string }) {
  return (
    <div
      className="turn-row"
      {...place(rest)}
      style={at(rest.top)}
      data-testid="turn-row"
      data-turn={turn.number}
      data-ending={turn.ending ?? 'open'}
    >
      <span role="gridcell" aria-colspan={5}>
        <strong>
          {eventsWords.turn(turn.number)}
          {turn.review && ` ${eventsWords.review}`}
        </strong>
        <span>{turn.ending === null ? open : turn.ending.replaceAll('_', ' ')}</span>
        <span>{formatDuration(turn.endedAt - turn.startedAt)}</span>
        {turn.llmCalls > 0 && <span className="turn-wide">{eventsWords.calls(turn.llmCalls)}</span>}
        {turn.toolCalls > 0 && (
          <span className="turn-wide">
            {eventsWords.tools(turn.toolCalls)}
            {turn.toolErrors > 0 && `, ${eventsWords.failed(turn.toolErrors)}`}
            {turn.toolsHeld > 0 && `, ${eventsWords.heldForApproval(turn.toolsHeld)}`}
          </span>
        )}
        {turn.inputTokens + turn.outputTokens > 0 && (
          <span>
            {eventsWords.tokensIn(formatTokens(turn.inputTokens))}
            <span className="turn-wide">
              {turn.cacheReadTokens > 0 && ` ${eventsWords.cached(formatTokens(turn.cacheReadTokens))}`}
            </span>
            , {eventsWords.tokensOut(formatTokens(turn.outputTokens))}
          </span>
        )}
        {(turn.costUsd > 0 || turn.unpriced) && <span>{formatSpent(turn.costUsd, turn.unpriced)}</span>}
        {turn.wakes > 1 && <span className="turn-wide">{eventsWords.wakes(turn.wakes)}</span>}
        {turn.crashes > 0 && <span className="turn-alarm">{eventsWords.crashes(turn.crashes)}</span>}
        {turn.recoveries > 0 && <span className="turn-alarm">{eventsWords.recoveries(turn.recoveries)}</span>}
      </span>
    </div>
  )
})

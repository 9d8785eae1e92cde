/**
 * The fold of a log into spans: turns, and in each turn its model calls, tool calls, workers, waits for a
 * person, and gaps without a runner. A table of spans is changed in place, because it is large; from outside
 * the fold is a pure function of the events.
 *
 * - A span ends at or before its turn ends. Workers and waits outlive the work of their turn, so the turn
 *   stays open, marked `ended`, until the last of them ends.
 * - Time does not go backwards: an event that is dated before the previous one counts as dated like it.
 * - A death of the runner ends its open calls where the gap begins. Their results, which the next runner
 *   writes, add the outcome and do not move the end.
 */
import { factsOf, type SessionEvent } from '@cairn/protocol'
import { isReviewWake } from '../capabilities/review.ts'
import { foldCalls } from './fold-calls.ts'
import { foldModel, MODEL, noteToken } from './fold-model.ts'
import { foldWaits } from './fold-waits.ts'
import { foldWorkerSpans } from './fold-worker-spans.ts'
import { beginSpan, endSpan, interrupt, isWorking, settle, shorten, type SpanFold } from './span-fold.ts'
import { hasFlag, isOpen, setFlag } from './spans.ts'

/**
 * Adds events to the fold. A reader may leave out llm.delta, most of a log: then only the time of the first
 * token of an open model call is unknown.
 */
export function foldSpans(fold: SpanFold, events: readonly SessionEvent[]): void {
  for (const event of events) {
    // A resumed stream may repeat events.
    if (event.id <= fold.through) continue
    fold.through = event.id
    if (event.type === 'llm.delta') {
      noteToken(fold, Date.parse(event.created_at))
      continue
    }
    const before = fold.at
    fold.at = Math.max(before, Date.parse(event.created_at))
    foldSpan(fold, event, before === 0 ? fold.at : before)
  }
}

/** `before` is the time of the previous event. */
function foldSpan(fold: SpanFold, event: SessionEvent, before: number): void {
  beginTurn(fold, event)
  foldModel(fold, event)
  foldCalls(fold, event)
  foldWaits(fold, event)
  foldWorkerSpans(fold, event)
  foldMarks(fold, event)
  foldLifecycle(fold, event, before)
}

/**
 * A turn begins with the first message, resume or wake after the end of the previous one, as in the EVENTS
 * tab. A review is always a turn of its own.
 */
function beginTurn(fold: SpanFold, event: SessionEvent): void {
  const { spans } = fold
  if (factsOf(event.type).starts_turn !== true) return
  const isReview = isReviewWake(event)
  if (isWorking(fold) && !isReview && !isReviewing(fold)) return nameTurn(fold, event)
  if (isWorking(fold)) endTurn(fold, event.id)
  fold.turn = beginSpan(fold, null, { kind: 'turn', name: '', object: '', event })
  if (isReview) setFlag(spans, fold.turn, 'review')
  nameTurn(fold, event)
}

const isReviewing = (fold: SpanFold): boolean => isWorking(fold) && hasFlag(fold.spans, fold.turn, 'review')

/** A turn is called by its first message. */
function nameTurn({ spans, turn }: SpanFold, event: SessionEvent): void {
  if (event.type !== 'user.message' || spans.objects[turn] !== '' || spans.names[turn] !== '') return
  const { content, synthetic } = event.data
  spans.names[turn] = synthetic ?? ''
  spans.objects[turn] = shorten(content)
}

/** The work of the turn has ended: so have its calls. Workers and waits may go further. */
function endTurn(fold: SpanFold, event: number): void {
  const { spans, open, turn } = fold
  interrupt(fold, fold.at, event)
  for (const [key, span] of open) if (!isOpen(spans, span)) open.delete(key)
  if (turn === -1 || !isOpen(spans, turn)) return
  setFlag(spans, turn, 'ended')
  settle(fold, turn, event)
}

/** What happened at a point of time: it has no duration, and is drawn on the bar of its turn. */
function foldMarks(fold: SpanFold, event: SessionEvent): void {
  switch (event.type) {
    case 'context.compact':
    case 'saga.compensate':
      return mark(fold, event, event.type === 'saga.compensate')
    case 'span.outcome_evaluation_end':
    case 'mission.evaluation.end':
      return mark(fold, event, event.data.result === 'failed')
    default:
  }
}

function mark(fold: SpanFold, event: SessionEvent, isFailed: boolean): void {
  const object = 'result' in event.data ? String(event.data.result) : ''
  const span = beginSpan(fold, null, { kind: 'mark', name: event.type, object, event })
  if (isFailed) setFlag(fold.spans, span, 'failed')
  endSpan(fold, span, fold.at, event.id)
}

function foldLifecycle(fold: SpanFold, event: SessionEvent, before: number): void {
  const { spans, turn } = fold
  switch (event.type) {
    case 'session.pause':
    case 'harness.crash':
      return interrupt(fold, fold.at, event.id)
    case 'harness.recovered': {
      const from = Math.max(before, fold.at - Math.round(event.data.stale_seconds * 1000))
      interrupt(fold, from, event.id)
      const gap = beginSpan(fold, null, { kind: 'gap', name: '', object: '', event, from })
      return endSpan(fold, gap, fold.at, event.id)
    }
    case 'session.fail': {
      const model = fold.open.get(MODEL)
      if (model !== undefined && isOpen(spans, model)) setFlag(spans, model, 'failed')
      if (isWorking(fold)) setFlag(spans, turn, 'failed')
      return endTurn(fold, event.id)
    }
    case 'session.complete':
    case 'session.stopped':
      return endTurn(fold, event.id)
    case 'inbox.task_complete':
      if (event.data.review_wake_id !== undefined && isReviewing(fold)) endTurn(fold, event.id)
      return
    default:
  }
}

/** When a session was last reviewed, as a fold of its log (docs/review.md). */
import type { EventId, SessionEvent } from '@cairn/protocol'

export type Review = {
  /** Turns that ended normally since the last review started. */
  readonly turns: number
  /** A review that started and has not ended: it is running, or its runner crashed. `at` is RFC 3339. */
  readonly open: { wake_id: EventId; at: string } | null
}

export const noReview: Review = { turns: 0, open: null }

/** A harness.wake of the background review; it has flags instead of a cursor (contract 14.13). */
export const isReviewWake = (event: SessionEvent): boolean =>
  event.type === 'harness.wake' && 'review_memory' in event.data

export function foldReview(review: Review, event: SessionEvent): Review {
  switch (event.type) {
    case 'session.complete':
      return { ...review, turns: review.turns + 1 }
    case 'harness.wake':
      return isReviewWake(event) ? { turns: 0, open: { wake_id: event.id, at: event.created_at } } : review
    case 'inbox.task_complete':
      return review.open !== null && event.data.review_wake_id === review.open.wake_id
        ? { ...review, open: null }
        : review
    default:
      return review
  }
}

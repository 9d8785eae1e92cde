/** The last graded answer and its verdict, as a fold of the log. Both outlive the goal. */
import type { EventId, SessionEvent } from '@cairn/protocol'

export type Grading = {
  /** The answer that an open evaluation grades. */
  readonly open: EventId | null
  readonly last: { response_id: EventId; verdict_id: EventId } | null
}

export const noGrading: Grading = { open: null, last: null }

export function foldGrading(grading: Grading, event: SessionEvent): Grading {
  switch (event.type) {
    case 'span.outcome_evaluation_start':
      return { ...grading, open: event.data.response_event_id }
    case 'span.outcome_evaluation_end':
      return grading.open === null
        ? grading
        : { open: null, last: { response_id: grading.open, verdict_id: event.id } }
    // The end of a turn and the removal of a goal discard an open evaluation.
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
    case 'user.define_outcome':
    case 'outcome.defined':
    case 'outcome.cleared':
      return grading.open === null ? grading : { ...grading, open: null }
    default:
      return grading
  }
}

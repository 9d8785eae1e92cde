/** The answer that was graded last and the verdict on it, as a fold of the log. It outlives the goal. */
import type { EventId, SessionEvent } from '@cairn/protocol'

export type Grading = {
  /** The answer that an evaluation without an end looks at. */
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
    // A turn that ended, and a goal that went, take an open evaluation with them.
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

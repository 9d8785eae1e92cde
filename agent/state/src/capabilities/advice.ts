/**
 * Advisor requests of the running turn, as a fold of the log. A request that a crash or a pause cut off is
 * closed as a failure and never repeated, so each point of a turn is advised on at most once.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

export type Advice = {
  /** Requests of this turn. */
  readonly asked: number
  /** Iteration that the last request looked at; -1 before the first. */
  readonly last_iteration: number
  /** The final review of this turn was requested. */
  readonly reviewed: boolean
  readonly open: {
    request_id: EventId
    model: string
    category: string
    turn_id: string | undefined
    iteration_index: number | undefined
  } | null
}

export const noAdvice: Advice = { asked: 0, last_iteration: -1, reviewed: false, open: null }

export function foldAdvice(advice: Advice, event: SessionEvent): Advice {
  switch (event.type) {
    case 'advisor.request': {
      const { model, category, turn_id, iteration_index } = event.data
      return {
        asked: advice.asked + 1,
        last_iteration: iteration_index ?? advice.last_iteration,
        reviewed: advice.reviewed || category === 'review',
        open: { request_id: event.id, model, category, turn_id, iteration_index },
      }
    }
    case 'advisor.result':
    case 'advisor.failure':
      return advice.open === null ? advice : { ...advice, open: null }
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
    case 'outcome.continuation':
    case 'mission.continuation':
      return noAdvice
    default:
      return advice
  }
}

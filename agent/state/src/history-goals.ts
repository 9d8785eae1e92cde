/**
 * The order of a goal's events (contract 14.10, 10), as rules over one log. Part of
 * `checkHistory`.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

type Watched = {
  id: string
  state: 'active' | 'paused' | 'over'
  finished: number
  span: { start: EventId; iteration: number } | null
  /** A needs_revision without its continuation. */ owed: EventId | null
}

/** Feeds on a log in order; returns what is wrong with each event. */
export function goalRules(): (event: SessionEvent) => string[] {
  let goal: Watched | null = null
  let before: SessionEvent['type'] | null = null
  const responses = new Set<EventId>()

  function check(event: SessionEvent): string[] {
    switch (event.type) {
      case 'user.define_outcome':
      case 'outcome.defined': {
        // Several goals of one request replace each other at once.
        const found =
          goal !== null && goal.state !== 'over' && before !== 'user.define_outcome'
            ? [`a goal is set while ${goal.id} is ${goal.state}`]
            : []
        goal = { id: event.data.outcome_id, state: 'active', finished: 0, span: null, owed: null }
        return found
      }
      case 'llm.response':
        responses.add(event.id)
        return []
      case 'span.outcome_evaluation_start': {
        const { outcome_id, iteration, response_event_id } = event.data
        if (goal?.id !== outcome_id || goal.state !== 'active') return ['it grades a goal that is not active']
        const found = [
          ...(goal.span !== null ? [`the span of ${goal.span.start} is open`] : []),
          ...(iteration !== goal.finished ? [`iteration ${iteration} where ${goal.finished} is due`] : []),
          ...(responses.has(response_event_id) ? [] : ['response_event_id names no llm.response before it']),
        ]
        goal = { ...goal, span: { start: event.id, iteration }, owed: null }
        return found
      }
      case 'span.outcome_evaluation_ongoing':
        return goal?.span && goal.id === event.data.outcome_id && goal.span.iteration === event.data.iteration
          ? []
          : ['no span of that iteration is open']
      case 'span.outcome_evaluation_end': {
        const { outcome_id, outcome_evaluation_start_id, iteration, result } = event.data
        if (!goal?.span || goal.id !== outcome_id || goal.span.start !== outcome_evaluation_start_id)
          return ['it ends no open span']
        const found =
          iteration === goal.span.iteration + 1
            ? []
            : [`iteration ${iteration} where ${goal.span.iteration + 1} is due`]
        const state: Watched['state'] =
          result === 'needs_revision'
            ? goal.state
            : result === 'paused'
              ? 'paused'
              : goal.state === 'paused' && result !== 'satisfied'
                ? 'paused'
                : 'over'
        goal = {
          ...goal,
          state,
          finished: iteration,
          span: null,
          owed: result === 'needs_revision' ? event.id : null,
        }
        return found
      }
      case 'outcome.continuation': {
        const { outcome_id, iteration, status_event_id } = event.data
        const fits =
          goal?.id === outcome_id &&
          goal.state === 'active' &&
          goal.owed !== null &&
          goal.owed === status_event_id &&
          goal.finished === iteration
        if (goal) goal = { ...goal, owed: null }
        return fits ? [] : ['no verdict of the active goal asks for it']
      }
      case 'outcome.paused': {
        const fits = goal?.id === event.data.outcome_id && goal.state === 'active'
        if (goal && fits) goal = { ...goal, state: 'paused' }
        return fits ? [] : ['the goal it pauses is not active']
      }
      case 'outcome.cleared': {
        const due = goal !== null && goal.state !== 'over' ? goal.id : null
        goal = null
        return due === event.data.outcome_id
          ? []
          : [`it clears ${event.data.outcome_id ?? 'nothing'} where ${due ?? 'nothing'} is under way`]
      }
      case 'user.message':
        if (
          goal &&
          event.data.synthetic === 'outcome_resumed' &&
          event.data.outcome_id === goal.id &&
          goal.state === 'paused'
        )
          goal = { ...goal, state: 'active', owed: null }
        return event.data.synthetic === 'outcome_continuation' && before !== 'outcome.continuation'
          ? ['no outcome.continuation stands before it']
          : []
      case 'session.complete':
      case 'session.fail':
      case 'session.stopped':
        if (goal) goal = { ...goal, span: null }
        return []
      default:
        return []
    }
  }
  return event => {
    const found =
      before === 'outcome.continuation' &&
      !(event.type === 'user.message' && event.data.synthetic === 'outcome_continuation')
        ? ['an outcome.continuation is followed by its message and nothing else']
        : []
    found.push(...check(event))
    before = event.type
    return found
  }
}

/**
 * Goals as two rows of the capabilities: a turn about to end is graded, and a verdict that asks for more
 * starts the next turn. A command that clears the conversation runs between them.
 */
import type { EventId } from '@cairn/protocol'
import { continuation } from '@cairn/sessions'
import type { Capability } from '../../turn/capability.ts'
import type { Position } from '../../turn/position.ts'
import { evaluate } from './evaluate.ts'
import { outcomeContinuation } from './events.ts'
import { findOverspentGoal } from './overspent.ts'

type Due = {
  response_id: EventId
  /** The goal's budget that was exhausted during the turn. */
  overspent: string | null
}

/** The answer that would be graded at the end of the turn. */
const lastAnswer = ({ answer, conversation }: Position): EventId | undefined =>
  answer?.id ?? conversation.entries.findLast(entry => entry.message.role === 'assistant')?.event_id

const isGraded = (position: Position): boolean => {
  const response_id = lastAnswer(position)
  return response_id === undefined || position.grading.last?.response_id === response_id
}

export const goalGrading: Capability<Due> = {
  name: 'goal_grading',
  handsOver: true,
  asks: ({ setup: { agent }, clock }) => ({
    // A verdict in the middle of a turn ended it, unless a person has written since. Earlier messages that
    // arrived after the request of the answer wait for the goal's next turn, or are answered now.
    isOver: ({ answer, grading, conversation, goal, spoken_id }) => {
      const last = conversation.deferred.at(-1) ?? conversation.entries.at(-1)
      const isEnded =
        answer !== null &&
        grading.last?.response_id === answer.id &&
        (last?.event_id ?? 0) < grading.last.verdict_id &&
        (goal?.status === 'active' || spoken_id < answer.request_id)
      return isEnded ? 'budget_exhausted' : null
    },
    before_request: ({ turn, answer, goal }) => {
      if (turn.turn_id === null || answer === null) return null
      const overspent = findOverspentGoal(goal, agent.goals, clock.now())
      return overspent === null ? null : { response_id: answer.id, overspent }
    },
    at_end: position => {
      const { goal } = position
      const response_id = lastAnswer(position)
      const isDue = goal !== null && !isGraded(position) && (goal.status === 'active' || goal.open !== null)
      return isDue && response_id !== undefined ? { response_id, overspent: null } : null
    },
  }),
  /** A failure of the evaluator fails the session, which is then retried: only real verdicts count. */
  async act(turn, due, before) {
    const error = await evaluate(turn, { ...due, before })
    return error === null
      ? { next: 'look' }
      : { next: 'fail', error, message: `The goal evaluator did not answer: ${error.message}` }
  },
}

/**
 * The next round is a separate turn: the lease is released, and the message that starts it wakes the session.
 */
export const goalContinuation: Capability<{ verdict_id: EventId }> = {
  name: 'goal_continuation',
  asks: () => ({
    at_end: position =>
      position.goal?.status === 'active' && position.goal.owed !== null && isGraded(position)
        ? { verdict_id: position.goal.owed.verdict_id }
        : null,
  }),
  async act(turn, { verdict_id }) {
    const { goal, last_id } = turn.log.position()
    if (goal === null) throw new Error('[goal] cannot resume: the session has no goal')
    const queued = outcomeContinuation({
      outcome_id: goal.outcome_id,
      iteration: goal.iteration,
      status_event_id: verdict_id,
    })
    return { next: 'end_turn', events: [queued, continuation(goal)], cursor: last_id }
  },
}

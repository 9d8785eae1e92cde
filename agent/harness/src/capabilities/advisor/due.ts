/** When the advisor is called, decided from the position alone (docs/advisor.md). Pure. */
import { type AdvisorConfig, toolError } from '@cairn/protocol'
import type { Advice, Conversation, TurnState } from '@cairn/state'

/**
 * `progress`: at a fixed interval of iterations. `stuck`: calls keep failing. `review`: the turn is about to
 * end.
 */
export type AdviceCategory = 'progress' | 'stuck' | 'review'

export type AdvicePosition = {
  readonly conversation: Conversation
  readonly turn: Pick<TurnState, 'turn_id' | 'calls'>
  readonly answer: { readonly iteration_index: number } | null
  readonly advice: Advice
}

/** Consecutive failed calls, over at least two iterations, that count as stuck. */
const FAILURES = 3

/**
 * The advice to ask for before the next request (`finishing` false) or before the end of the turn; null for
 * none.
 */
export function adviceDue(
  { conversation, turn, answer, advice }: AdvicePosition,
  finishing: boolean,
  settings: AdvisorConfig,
): AdviceCategory | null {
  if (
    settings.model === undefined ||
    turn.turn_id === null ||
    answer === null ||
    advice.asked >= settings.max_per_turn
  )
    return null
  if (finishing) return settings.before_finish && !advice.reviewed && turn.calls.length > 0 ? 'review' : null
  // Only between tool results and the next request; a new message goes to the model first.
  if (conversation.entries.at(-1)?.message.role !== 'tool' || conversation.deferred.length > 0) return null
  const since = answer.iteration_index - advice.last_iteration
  const tail = turn.calls.slice(-FAILURES)
  if (since >= 2 && tail.length === FAILURES && tail.every(call => toolError(call.content) !== null))
    return 'stuck'
  return since >= settings.every_iterations ? 'progress' : null
}

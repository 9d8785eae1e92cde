/**
 * What a compaction must not lose, taken from the folds of the log and not from the conversation: the plan,
 * the goal, what waits for a person.
 */
import type { Todo } from '@cairn/protocol'
import type { CapabilityStates, Goal } from '@cairn/state'

export type CarriedState = {
  todos: readonly Todo[]
  /** A goal that is not reached and not given up. */
  goal: Pick<Goal, 'description' | 'rubric' | 'status'> | null
  waiting: readonly string[]
}

const LIVE = new Set<Goal['status']>(['active', 'paused'])

export const carriedState = ({
  progress,
  goal,
  waiting,
}: Pick<CapabilityStates, 'progress' | 'goal' | 'waiting'>): CarriedState => ({
  todos: progress.plan,
  goal: goal !== null && LIVE.has(goal.status) ? goal : null,
  waiting: waiting.map(({ line }) => line),
})

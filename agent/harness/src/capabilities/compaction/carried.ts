/**
 * What a compaction must not lose, taken from the folds of the log and not from the conversation: the plan,
 * the goal, what waits for a person, the running workers.
 */
import type { Todo } from '@cairn/protocol'
import { type CapabilityStates, type Child, type Goal, isMissionUnderWay, type Mission } from '@cairn/state'

export type CarriedState = {
  todos: readonly Todo[]
  /** A goal or a mission that has neither been reached nor given up. */
  goal: Pick<Goal | Mission, 'description' | 'rubric' | 'status'> | null
  waiting: readonly string[]
  workers: readonly Pick<Child, 'worker_id' | 'agent' | 'goal'>[]
}

const LIVE = new Set<Goal['status']>(['active', 'paused'])

export const carriedState = ({
  progress,
  goal,
  mission,
  waiting,
  children,
}: Pick<CapabilityStates, 'progress' | 'goal' | 'mission' | 'waiting' | 'children'>): CarriedState => ({
  todos: progress.plan,
  goal: isMissionUnderWay(mission) ? mission : goal !== null && LIVE.has(goal.status) ? goal : null,
  waiting: waiting.map(({ line }) => line),
  workers: children.open,
})

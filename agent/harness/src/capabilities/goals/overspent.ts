/** Finds an exhausted budget of a goal. Pure. */
import type { AgentConfig } from '@cairn/protocol'
import type { Goal } from '@cairn/state'

type Spent = Goal['spent']

/**
 * The goal's exhausted budget, in words; null: none. Time is wall time since the goal was defined, in
 * milliseconds.
 */
export function findOverspent(
  budgets: AgentConfig['goals'],
  goal: Pick<Goal, 'started_at'>,
  spent: Spent,
  now: number,
): string | null {
  const { max_tokens, max_cost_usd, max_minutes } = budgets
  const minutes = (now - Date.parse(goal.started_at)) / 60_000
  if (max_tokens !== undefined && spent.tokens >= max_tokens)
    return `The token budget of the goal is used up: ${spent.tokens} of ${max_tokens}.`
  if (max_cost_usd !== undefined && spent.cost_usd >= max_cost_usd)
    return `The cost budget of the goal is used up: ${spent.cost_usd.toFixed(4)} of ${max_cost_usd} USD.`
  if (max_minutes !== undefined && minutes >= max_minutes)
    return `The time budget of the goal is used up: ${Math.floor(minutes)} of ${max_minutes} minutes.`
  return null
}

/** `findOverspent` for the goal of a session; also null if none is active. */
export const findOverspentGoal = (
  goal: Goal | null,
  budgets: AgentConfig['goals'],
  now: number,
): string | null => (goal?.status === 'active' ? findOverspent(budgets, goal, goal.spent, now) : null)

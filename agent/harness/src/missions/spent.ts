/** What a mission has left of its budget, over the whole tree and since its definition. Pure. */
import type { MissionTrigger } from '@cairn/protocol'
import { leftOf, type Mission, partUsed, type Spending } from '@cairn/state'

/** From 0 to 1 and beyond; 0 where there is no budget. */
export const usedOf = ({ budget, spending }: Pick<Mission, 'budget' | 'spending'>, now: number): number =>
  budget === null ? 0 : partUsed(budget, spending, now)

/** Which part of the budget is used up, in words, and what a round that it ends is graded for; null: none. */
export function overspent(
  { budget, spending }: Pick<Mission, 'budget'> & { spending: Spending },
  now: number,
): { trigger: MissionTrigger; told: string } | null {
  if (budget === null) return null
  const { tokens, cost_usd, minutes } = leftOf(budget, spending, now)
  if (tokens !== undefined && tokens <= 0)
    return {
      trigger: 'budget',
      told: `The token budget of the mission is used up: ${spending.tokens} of ${budget.max_tokens}.`,
    }
  if (cost_usd !== undefined && cost_usd <= 0)
    return {
      trigger: 'budget',
      told:
        `The cost budget of the mission is used up: ${spending.cost_usd.toFixed(4)} of ` +
        `${budget.max_cost_usd} USD.`,
    }
  if (minutes !== undefined && minutes <= 0)
    return {
      trigger: 'deadline',
      told: `The time of the mission is up: ${budget.max_minutes} minutes.`,
    }
  return null
}

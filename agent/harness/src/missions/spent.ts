/**
 * What a mission has used of its budget, over the whole tree and since its definition. What is reserved for
 * workers at work limits the shares of further workers and is not used yet: their coordinator goes on
 * answering. Pure.
 */
import type { MissionTrigger } from '@cairn/protocol'
import { leftOf, type Mission, partUsed, type Spending } from '@cairn/state'

const used = (spending: Spending): Spending => ({ ...spending, reserved: [] })

/** From 0 to 1 and beyond; 0 where there is no budget. */
export const usedOf = ({ budget, spending }: Pick<Mission, 'budget' | 'spending'>, now: number): number =>
  budget === null ? 0 : partUsed(budget, used(spending), now)

/** Which part of the budget is used up, in words, and what a round that it ends is graded for; null: none. */
export function overspent(
  { budget, spending }: Pick<Mission, 'budget'> & { spending: Spending },
  now: number,
): { trigger: MissionTrigger; told: string } | null {
  if (budget === null) return null
  const { tokens, cost_usd, minutes } = leftOf(budget, used(spending), now)
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

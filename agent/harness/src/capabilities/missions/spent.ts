/**
 * What a mission has used of its budget since its definition, over the whole tree. Reservations for running
 * workers limit the shares of further workers but do not count as used: their coordinator continues to
 * answer. Pure.
 */
import type { MissionTrigger } from '@cairn/protocol'
import { leftOf, type Mission, partUsed, type Spending } from '@cairn/state'

const used = (spending: Spending): Spending => ({ ...spending, reserved: [] })

/** From 0 to 1, or more when overdrawn; 0 without a budget. */
export const usedOf = ({ budget, spending }: Pick<Mission, 'budget' | 'spending'>, now: number): number =>
  budget === null ? 0 : partUsed(budget, used(spending), now)

/** The exhausted part of the budget, in words, and the trigger of the resulting evaluation; null: none. */
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
      told: `The time budget of the mission is used up: ${budget.max_minutes} minutes.`,
    }
  return null
}

/** How a mission stands, in words and in numbers. Pure. */
import type { MissionView } from '@cairn/protocol'

export const STATUS_WORDS: Record<MissionView['status'], string> = {
  active: 'Active',
  paused: 'Paused',
  blocked: 'Blocked',
  satisfied: 'Satisfied',
  failed: 'Failed',
  max_iterations_reached: 'Out of rounds',
  cancelled: 'Cancelled',
}
const RESULT_WORDS: Record<string, string> = {
  satisfied: 'Satisfied',
  needs_revision: 'Needs revision',
  blocked: 'Blocked',
  failed: 'Failed',
  max_iterations_reached: 'Out of rounds',
  paused: 'Could not be read',
}
export const resultWord = (result: string): string => RESULT_WORDS[result] ?? result

/** "Round 2 of 5": the one that is worked on, or the last that was graded. */
export function roundOf({
  status,
  iteration,
  max_iterations,
}: Pick<MissionView, 'status' | 'iteration' | 'max_iterations'>): string {
  const round =
    status === 'active' || status === 'paused' ? Math.min(iteration + 1, max_iterations) : iteration
  return `Round ${round} of ${max_iterations}`
}

export type Use = { what: 'tokens' | 'USD' | 'minutes'; used: number; of: number; part: number }

/** What is used of each part of the budget; nothing where there is none. */
export function usesOf({ budget, spent }: Pick<MissionView, 'budget' | 'spent'>): Use[] {
  const use = (what: Use['what'], used: number, of: number | undefined): Use[] =>
    of === undefined ? [] : [{ what, used, of, part: Math.min(1, used / of) }]
  return [
    ...use('tokens', spent.tokens, budget?.max_tokens),
    ...use('USD', spent.cost_usd, budget?.max_cost_usd),
    ...use('minutes', spent.minutes, budget?.max_minutes),
  ]
}

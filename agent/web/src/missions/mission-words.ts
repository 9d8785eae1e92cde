/** Labels and numbers of a mission's state. Pure. */
import type { MissionView } from '@cairn/protocol'
import type { StatusKind } from '../ui/status.tsx'
import { missionsWords } from '../words/missions.ts'

export const MISSION_KINDS: Record<MissionView['status'], StatusKind> = {
  active: 'running',
  paused: 'paused',
  blocked: 'waiting',
  satisfied: 'done',
  failed: 'failed',
  max_iterations_reached: 'failed',
  cancelled: 'idle',
}
export const STATUS_WORDS: Record<MissionView['status'], string> = missionsWords.states
const RESULT_WORDS: Record<string, string> = missionsWords.results
export const resultWord = (result: string): string => RESULT_WORDS[result] ?? result

/** "Round 2 of 5": the current round, or the last graded one. */
export function roundOf({
  status,
  iteration,
  max_iterations,
}: Pick<MissionView, 'status' | 'iteration' | 'max_iterations'>): string {
  const round =
    status === 'active' || status === 'paused' ? Math.min(iteration + 1, max_iterations) : iteration
  return missionsWords.round(round, max_iterations)
}

/** The lines of a list of criteria; a rubric in sentences is one criterion. */
export function criteriaOf(rubric: string): string[] {
  const lines = rubric.split('\n').filter(line => line.trim() !== '')
  return lines.every(line => line.startsWith('- '))
    ? lines.map(line => line.slice(2).trim())
    : [rubric.trim()]
}

export type Use = { what: 'tokens' | 'USD' | 'minutes'; used: number; of: number; part: number }

/** The used part of each limit; empty without limits. */
export function usesOf({ budget, spent }: Pick<MissionView, 'budget' | 'spent'>): Use[] {
  const use = (what: Use['what'], used: number, of: number | undefined): Use[] =>
    of === undefined ? [] : [{ what, used, of, part: Math.min(1, used / of) }]
  return [
    ...use('USD', spent.cost_usd, budget?.max_cost_usd),
    ...use('tokens', spent.tokens, budget?.max_tokens),
    ...use('minutes', spent.minutes, budget?.max_minutes),
  ]
}

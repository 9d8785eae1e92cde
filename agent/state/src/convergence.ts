/**
 * Whether research still gets better, from the scores of its branches and nothing else (contract 14.5). Pure.
 *
 * A score improves if it reaches `improve_at` (mode report), or beats the last one that improved by more than
 * `min_delta` (mode metric). So many branches in a row that do not, and a level is reached: once, until one
 * improves again.
 */
import { RESEARCH_LEVELS, type ResearchLevel, type ResearchSettings, type Scores } from '@cairn/protocol'

export type Convergence = {
  /** Report: the greatest score. Metric: the last that improved, which the next must beat. */
  readonly best: number | null
  /** Harvested branches in a row that did not improve. */
  readonly count: number
  /** The highest level that was reached since one improved. */
  readonly level: ResearchLevel | null
}
export const noConvergence: Convergence = { best: null, count: 0, level: null }

export type Converged = {
  after: Convergence
  /** Reached with this harvest; null: none that was not reached before. */
  reached: ResearchLevel | null
  /** By key; a branch that nobody could score neither improves nor counts, and is not here. */
  improves: Readonly<Record<string, boolean>>
}

type Rules = Pick<ResearchSettings, 'mode' | 'improve_at' | 'min_delta' | 'metric' | 'levels'>

/** One harvest: `folded` in its order; a key without a score is a branch that failed. */
export function converge(
  before: Convergence,
  rules: Rules,
  { folded, scores }: { folded: readonly string[]; scores: Scores },
): Converged {
  let { best, count, level } = before
  const improves: Record<string, boolean> = {}
  for (const key of folded) {
    const score = key in scores ? scores[key] : undefined
    if (score === null) continue
    const isBetter = score !== undefined && improvesOn(best, score, rules)
    improves[key] = isBetter
    if (isBetter) [count, level] = [0, null]
    else count += 1
    if (score !== undefined && (isBetter || rules.mode === 'report')) best = bestOf(best, score, rules)
  }
  const highest = RESEARCH_LEVELS.findLast(each => count >= rules.levels[each]) ?? null
  const reached = highest !== null && rankOf(highest) > rankOf(level) ? highest : null
  return { after: { best, count, level: reached ?? level }, reached, improves }
}

const rankOf = (level: ResearchLevel | null): number => (level === null ? -1 : RESEARCH_LEVELS.indexOf(level))

function improvesOn(
  best: number | null,
  score: number,
  { mode, improve_at, min_delta, metric }: Rules,
): boolean {
  if (mode === 'report') return score >= improve_at
  return best === null || isBetterBy(score, best, metric?.direction ?? 'max', min_delta)
}

const bestOf = (best: number | null, score: number, { mode }: Rules): number =>
  mode === 'metric' || best === null ? score : Math.max(best, score)

/** Whether `score` beats `best` by more than `by`. */
export const isBetterBy = (score: number, best: number, direction: 'max' | 'min', by: number): boolean =>
  (direction === 'max' ? score - best : best - score) > by

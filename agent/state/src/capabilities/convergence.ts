/**
 * Whether research still improves, judged only by the scores of its branches (contract 14.5). Pure.
 *
 * A score improves if it reaches `improve_at` (mode report), or beats the last improving score by more than
 * `min_delta` (mode metric). After a set number of branches in a row without improvement a level is reached,
 * once, until a branch improves again.
 */
import { RESEARCH_LEVELS, type ResearchLevel, type ResearchSettings, type Scores } from '@cairn/protocol'

export type Convergence = {
  /** Report mode: the highest score. Metric mode: the last improving score, which the next one must beat. */
  readonly best: number | null
  /** Consecutive harvested branches without improvement. */
  readonly count: number
  /** The highest level reached since the last improvement. */
  readonly level: ResearchLevel | null
}
export const noConvergence: Convergence = { best: null, count: 0, level: null }

export type Converged = {
  after: Convergence
  /** The level that this harvest reached for the first time; null: none. */
  reached: ResearchLevel | null
  /** By branch key. A branch without a score neither improves nor counts and is omitted. */
  improves: Readonly<Record<string, boolean>>
}

type Rules = Pick<ResearchSettings, 'mode' | 'improve_at' | 'min_delta' | 'metric' | 'levels'>

/** Applies one harvest; `folded` is in harvest order. A key without a score is a failed branch. */
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

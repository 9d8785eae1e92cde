/**
 * Rules of research over one log (contract 14.5): each branch is folded once, after its outcome, and the
 * levels follow from the scores, recounted here from the first one. Part of `checkHistory`.
 */
import {
  type EventOf,
  RESEARCH_LEVELS,
  type ResearchLevel,
  type ResearchSettings,
  type SessionEvent,
} from '@cairn/protocol'

/** Undefined: the branch failed; null: it could not be scored. */
type Scored = { score: number | null | undefined; harvest: number }
type Run = {
  id: string
  settings: ResearchSettings
  keys: Map<string, 'at work' | 'ended' | 'folded'>
  scored: Scored[]
  harvests: number
}

/** Feed it the events of a log in order; it returns the violations of each. */
export function researchRules(): (event: SessionEvent) => string[] {
  let run: Run | null = null
  let converged: EventOf<'research.converged'> | null = null
  let mission: string | null = null
  return event => {
    const found: string[] = []
    if (converged !== null && event.type !== 'research.harvested')
      found.push('a research.converged must be followed by its harvest')
    if (event.type === 'mission.defined')
      mission = event.data.kind === 'research' ? event.data.mission_id : null
    if (event.type === 'research.defined') {
      const { mission_id, run_id, settings } = event.data
      if (mission_id !== mission) found.push('no research mission precedes it')
      run = { id: run_id, settings, keys: new Map(), scored: [], harvests: 0 }
    }
    if (event.type === 'worker.spawned') found.push(...spawned(run, event))
    if (event.type === 'worker.complete' || event.type === 'worker.failed') {
      const { branch_key: key } = event.data
      if (key !== undefined && run?.keys.get(key) === 'at work') run.keys.set(key, 'ended')
    }
    if (event.type === 'research.harvested') found.push(...harvested(run, converged, event))
    converged = event.type === 'research.converged' ? event : null
    return found
  }
}

function spawned(run: Run | null, { data }: EventOf<'worker.spawned'>): string[] {
  const { branch_key: key, kind } = data
  if ((kind === 'branch') !== (key !== undefined)) return ['only a branch has a key, and it must have one']
  if (key === undefined) return []
  if (run === null) return [`branch ${key} has no research run`]
  const found = run.keys.has(key) ? [`branch ${key} exists already`] : []
  run.keys.set(key, 'at work')
  if (run.keys.size > run.settings.max_branches)
    found.push(`branch ${key} exceeds the limit of ${run.settings.max_branches}`)
  return found
}

function harvested(
  run: Run | null,
  converged: EventOf<'research.converged'> | null,
  { data: { run_id, folded, scores } }: EventOf<'research.harvested'>,
): string[] {
  if (run?.id !== run_id) return [`run ${run_id} does not exist`]
  const found: string[] = []
  run.harvests += 1
  for (const key of folded) {
    if (run.keys.get(key) !== 'ended')
      found.push(`branch ${key} is folded, but has not ended or was already folded`)
    run.keys.set(key, 'folded')
    run.scored.push({ score: scores[key], harvest: run.harvests })
  }
  for (const key of Object.keys(scores))
    if (!folded.includes(key)) found.push(`${key} has a score but is not folded`)
  const { level, before, count, best } = countFrom(run)
  const due = level !== null && level !== before ? level : null
  const said = converged?.data
  if ((said?.level ?? null) !== due)
    found.push(`the scores reach ${due ?? 'no level'}, but the log has ${said?.level ?? 'none'}`)
  if (said !== undefined && (said.consecutive_non_improving !== count || said.best_score !== best))
    found.push(`the scores yield ${count} without improvement, best ${best ?? 'none'}`)
  return found
}

type Counted = {
  level: ResearchLevel | null
  before: ResearchLevel | null
  count: number
  best: number | null
}

/** `before`: the level reached by earlier harvests since the last improvement. */
function countFrom({ scored, settings, harvests }: Run): Counted {
  const { mode, improve_at, min_delta, metric, levels } = settings
  const sign = metric?.direction === 'min' ? -1 : 1
  let bar: number | null = null
  let since = 0
  for (const [at, { score }] of scored.entries()) {
    if (typeof score !== 'number') continue
    const beats = bar === null || sign * (score - bar) > min_delta
    if (mode === 'report' ? score < improve_at : !beats) continue
    bar = score
    since = at + 1
  }
  const rest = scored.slice(since).filter(({ score }) => score !== null)
  const levelOf = (count: number): ResearchLevel | null =>
    RESEARCH_LEVELS.findLast(level => count >= levels[level]) ?? null
  const known = scored.flatMap(({ score }) => (typeof score === 'number' ? [score] : []))
  return {
    count: rest.length,
    level: levelOf(rest.length),
    before: levelOf(rest.filter(({ harvest }) => harvest < harvests).length),
    best: mode === 'metric' ? bar : known.length === 0 ? null : Math.max(...known),
  }
}

/**
 * Adds the findings of branches to the coordinator's conversation: scored by others, in one commit, before
 * its next call (contract 14.5). A runner that takes over asks for the scores again; nothing of a harvest is
 * stored before its commit.
 */
import { type BranchState, CommitRefused, type ResearchBranch, type RowChange } from '@cairn/log'
import { clip, type EventDraft, type Scores } from '@cairn/protocol'
import { researchConverged, researchHarvested } from '@cairn/sessions'
import { converge, type Converged, type Research, toHarvest } from '@cairn/state'
import { usedOf } from '../missions/spent.ts'
import { ModelError } from '@cairn/models'
import type { TurnContext } from '../../turn/context.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { type Active, activeResearch } from '../missions/active-research.ts'
import { composeDigest } from './digest.ts'
import { measure, type Measured } from './measure.ts'
import { type Found, scoreBranches } from './score.ts'

const FINDINGS_CHARS = 1500

type Scored = { measured: Map<string, Measured>; used: Partial<Parameters<typeof researchHarvested>[0]> }
const unscored: Scored = { measured: new Map(), used: {} }

/**
 * Null once it is in the log, or something else goes first; otherwise the error that remained after all
 * retries.
 */
export async function harvest(
  runner: RunnerDeps,
  turn: TurnContext,
  before: readonly EventDraft[],
): Promise<ModelError | null> {
  const { log, store } = turn
  const { research } = log.position()
  if (research === null) throw new Error('[harvest] the session has no research')
  const found = toHarvest(research)
  const { run_id, settings } = research
  const known = await store.research.branches(run_id)
  const active = activeResearch(log.position())
  const scored = active === null ? unscored : await scoreAll(runner, turn, active, found, known)
  if (scored instanceof ModelError) return scored
  const scores = scoresOf(found, scored.measured)
  const folded = found.map(({ key }) => key)
  const converged = converge(research.convergence, settings, { folded, scores })
  const sources = await store.research.sources(run_id)
  const digest = composeDigest({
    branches: found,
    measured: scored.measured,
    sources,
    converged,
    settings,
  })
  const events = [
    ...before,
    ...(converged.reached === null ? [] : [reached(run_id, converged)]),
    researchHarvested({ run_id, folded, digest, scores, ...scored.used }),
  ]
  try {
    await log.append(events, {
      rows: [
        ...found.map(branch => ({
          do: 'branch.harvest' as const,
          run_id,
          key: branch.key,
          state: stateOf(branch, scored.measured.get(branch.key), converged, branch === found.at(-1)),
        })),
        ...(active === null ? [] : [standing(log.session().id, active, converged)]),
      ],
    })
  } catch (error) {
    // An operator changed the mission since it was read: the next iteration finds what is left to do.
    if (!(error instanceof CommitRefused) || error.refusal !== 'mission_moved') throw error
    await log.catchUp()
  }
  return null
}

const reached = (run_id: string, { reached: level, after }: Converged): EventDraft => {
  if (level === null) throw new Error('[harvest] no level was reached')
  return researchConverged({
    run_id,
    level,
    consecutive_non_improving: after.count,
    best_score: after.best,
  })
}

/** Failed branches have no score. */
const scoresOf = (found: readonly Found[], measured: ReadonlyMap<string, Measured>): Scores =>
  Object.fromEntries(
    found.flatMap(({ key, ended }) =>
      ended.as === 'failed' ? [] : [[key, measured.get(key)?.score ?? null] as const],
    ),
  )

/** No evaluator is called once the budget is exhausted. */
async function scoreAll(
  runner: RunnerDeps,
  turn: TurnContext,
  active: Active,
  found: readonly Found[],
  known: readonly ResearchBranch[],
): Promise<Scored | ModelError> {
  const complete = found.filter(({ ended }) => ended.as === 'complete')
  if (complete.length === 0) return unscored
  const { research, mission } = active
  if (research.settings.mode === 'metric') return measureAll(runner, turn, research, complete)
  if (usedOf(mission, turn.clock.now()) >= 1) return unscored
  const sources = await turn.store.research.sources(research.run_id)
  const scored = await scoreBranches(turn, mission.description, complete, known, sources)
  return scored instanceof ModelError ? scored : { measured: scored.measured, used: scored.said.used }
}

async function measureAll(
  runner: RunnerDeps,
  { log, lease, setup }: TurnContext,
  { settings: { metric } }: Research,
  found: readonly Found[],
): Promise<Scored> {
  const measured = new Map<string, Measured>()
  if (metric === undefined) throw new Error('[harvest] mode metric without a metric')
  const { signal } = lease
  for (const { key, worker_id } of found) {
    await using copy = await runner.copies.scratch(worker_id, signal)
    const measuring = { runner, agent: setup.agent, session_id: log.session().id, metric, signal }
    measured.set(key, await measure(measuring, copy.path))
  }
  return { measured, used: {} }
}

function stateOf(
  { key, ended }: Found,
  measured: Measured | undefined,
  { improves, reached: level }: Converged,
  isLast: boolean,
): BranchState {
  return {
    status: ended.as,
    findings: clip(ended.text, FINDINGS_CHARS),
    ...(ended.as === 'failed' ? {} : { score: measured?.score ?? null }),
    ...(measured === undefined ? {} : { why: measured.why }),
    ...(improves[key] === undefined ? {} : { improves: improves[key] }),
    ...(isLast && level !== null ? { level } : {}),
  }
}

const standing = (root_id: string, { mission }: Active, { after }: Converged): RowChange => ({
  do: 'mission.move',
  mission_id: mission.mission_id,
  root_id,
  from: [mission.status],
  to: mission.status,
  state: {
    research: {
      best_score: after.best,
      consecutive_non_improving: after.count,
      level: after.level,
    },
  },
})

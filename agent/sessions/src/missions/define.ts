/** Defines a mission: its row, its events and the message that starts it, in one commit (contract 14.5). */
import { CommitRefused, type Mission, type NewMission, type RowChange, type SessionRow } from '@cairn/log'
import {
  type AgentConfig,
  AppError,
  type Config,
  type EventDraft,
  isMissionOver,
  MISSION_ROUNDS,
  type ResearchSettings,
  type SessionBudget,
} from '@cairn/protocol'
import type { CapabilityStates } from '@cairn/state'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { TAKES_INPUT } from '../events/messages.ts'
import { missionDefined } from '../events/missions.ts'
import { researchDefined } from '../events/research.ts'
import { missionKickoff, researchKickoff } from './messages.ts'
import { readFolded } from '../read-folded.ts'
import { refusedAs } from '../refusals.ts'
import { missionTimer } from '../tree/timers.ts'

export type MissionInput = {
  description: string
  rubric: string
  max_iterations?: number | undefined
  budget?: SessionBudget | undefined
  /** Set for research. */
  research?: ResearchSettings | undefined
}
type Defined = {
  mission: NewMission
  /** Events before the message that starts the mission. */
  defined: EventDraft[]
  kickoff: EventDraft<'user.message'>
  rows: RowChange[]
}

/** Why a session cannot get a mission, in words; null if it can. */
export function missionObstacle(
  { parent_id }: Pick<SessionRow, 'parent_id'>,
  { goal, mission, research }: Pick<CapabilityStates, 'goal' | 'mission' | 'research'>,
): string | null {
  if (parent_id !== null) return 'A worker cannot have a mission: set it on a session without a parent.'
  if (mission !== null && !isMissionOver(mission.status))
    return (
      `The session already has a mission that is ${mission.status}: ` +
      `${JSON.stringify(mission.description)}. Cancel it first, or start another session.`
    )
  if (goal?.status === 'active' || goal?.status === 'paused')
    return (
      `The session has a goal that is ${goal.status}: ${JSON.stringify(goal.description)}. Remove it with ` +
      '/goal clear first.'
    )
  const left = research?.branches.find(({ harvested }) => !harvested)
  if (left !== undefined)
    return (
      `The results of branch ${left.key} of the previous research are not collected yet. ` +
      'Wait for it, or stop it first.'
    )
  return null
}

/** The model that grades rounds of a mission on which `model` works. */
export const missionEvaluator = ({ missions, goals, summary_model }: AgentConfig, model: string): string =>
  missions.evaluator_model ?? goals.evaluator_model ?? summary_model ?? model

/**
 * The first model without a price among those that work on the mission or grade it: it makes a budget in USD
 * unenforceable. Null if all have one.
 */
export function unpricedModel(
  { max_cost_usd }: SessionBudget,
  catalog: Config['models']['catalog'],
  models: readonly string[],
): string | null {
  if (max_cost_usd === undefined) return null
  const hasPrice = (model: string): boolean =>
    catalog[model]?.input !== undefined && catalog[model].output !== undefined
  return models.find(model => !hasPrice(model)) ?? null
}

export function composeMission(
  session: Pick<SessionRow, 'id' | 'org_id' | 'created_by' | 'created_by_kind'>,
  mission_id: string,
  { description, rubric, max_iterations = MISSION_ROUNDS, budget, research }: MissionInput,
): Defined {
  const rounds = Math.min(max_iterations, MISSION_ROUNDS)
  const definition = {
    description,
    rubric,
    max_iterations: rounds,
    ...(budget === undefined ? {} : { budget }),
    ...(research === undefined ? {} : { research }),
  }
  const kind = research === undefined ? 'mission' : 'research'
  const mission: NewMission = {
    mission_id,
    session_id: session.id,
    org_id: session.org_id,
    created_by: session.created_by,
    created_by_kind: session.created_by_kind,
    kind,
    definition,
  }
  return {
    mission,
    defined: [
      missionDefined({
        mission_id,
        description,
        rubric,
        max_iterations: rounds,
        kind,
        ...(budget === undefined ? {} : { budget }),
      }),
      ...(research === undefined
        ? []
        : [researchDefined({ mission_id, run_id: mission_id, mode: research.mode, settings: research })]),
    ],
    kickoff:
      research === undefined
        ? missionKickoff({ mission_id, description, rubric })
        : researchKickoff({ mission_id, description, rubric }, research),
    rows: [
      { do: 'mission.add', mission },
      ...(budget?.max_minutes === undefined ? [] : [missionTimer(mission, budget.max_minutes)]),
    ],
  }
}

/** Throws if the session has an active goal or mission; reopens a session that has ended. */
export async function defineMission(deps: Deps, sessionId: string, input: MissionInput): Promise<Mission> {
  const mission_id = deps.newId()
  for (;;) {
    const session = await deps.store.sessions.get(sessionId)
    if (session === null) throw new AppError('not_found', `Session ${sessionId} not found.`)
    const { states, seen } = await readFolded(deps.store, sessionId)
    const obstacle = missionObstacle(session, states)
    if (obstacle !== null) throw new AppError('wrong_state', obstacle)
    const { defined, kickoff, rows } = composeMission(session, mission_id, input)
    try {
      await deps.store.commit({
        session_id: sessionId,
        expect_status: TAKES_INPUT,
        expect_no_work_after: seen,
        reopen: sessionResumed('mission'),
        events: [...defined, kickoff],
        rows,
      })
      return await readMission(deps, mission_id)
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      // Something was added in between, perhaps a goal or a mission: retry.
      if (error.refusal !== 'new_work' && error.refusal !== 'mission_moved')
        throw refusedAs('set a mission on', sessionId, error)
    }
  }
}

export async function readMission({ store }: Pick<Deps, 'store'>, missionId: string): Promise<Mission> {
  const mission = await store.missions.get(missionId)
  if (mission === null) throw new AppError('not_found', `Mission ${missionId} not found.`)
  return mission
}

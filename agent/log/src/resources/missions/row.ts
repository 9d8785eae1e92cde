/**
 * Missions: a goal that a session and its children work on in rounds. The row has what listings and guards
 * need; rounds and verdicts are in the log of the session, its coordinator.
 */
import type {
  MissionDetail,
  MissionStatus,
  Principal,
  ResearchSettings,
  ResearchView,
  SessionBudget,
} from '@cairn/protocol'
import { ownColumns } from '../../engine/own-columns.ts'
import { isMissionOver } from '@cairn/protocol/words'
import { Refusing } from '../../engine/refusing.ts'
import { page } from '../../engine/listing.ts'
import type { ChangeContext, Keyed, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'
import { redactJson } from '../../engine/redact-json.ts'

/** The request; never changes. */
export type MissionDefinition = {
  description: string
  rubric: string
  max_iterations: number
  budget?: SessionBudget
  /** For kind research; equal to its research.defined event. */
  research?: ResearchSettings
}
/** Progress so far; keys are absent until they have a value. */
export type MissionState = {
  /** Why it was paused or cancelled. */
  reason?: string | null
  /** The person who changed its status last, if it was a person. */
  decided_by?: Pick<Principal, 'kind' | 'id'> | null
  last_evaluation?: { result: string; explanation: string; feedback: string; at: string }
  /** All verdicts: a later mission of the session replaces this one in the fold of its log. */
  verdicts?: MissionDetail['verdicts']
  /** For kind research, as of the last harvest and report. */
  research?: Pick<ResearchView['run'], 'best_score' | 'consecutive_non_improving' | 'level'>
  report?: ResearchView['run']['report']
  /** Usage of the whole tree since the definition, as of the last verdict. */
  spent?: { tokens: number; cost_usd: number }
}
export type NewMission = {
  mission_id: string
  /** Its coordinator, a root. */
  session_id: string
  org_id: string
  created_by: string
  created_by_kind: Principal['kind']
  kind: 'mission' | 'research'
  definition: MissionDefinition
}
export type Mission = NewMission & {
  /** Sort key of listings; increases with each mission. */
  key: number
  status: MissionStatus
  /** Verdicts so far. */
  iteration: number
  state: MissionState
  /** Epoch milliseconds. */
  created_at: number
  ended_at: number | null
}
export type MissionQuery = {
  org_id: string
  created_by?: string
  status?: readonly MissionStatus[]
  session_id?: string
  limit: number
  cursor?: string
}

export interface MissionReads {
  get(missionId: string): Promise<Mission | null>
  /** The session's mission that is not over. */
  current(sessionId: string): Promise<Mission | null>
  /** Newest first; `cursor` continues a listing. */
  list(query: MissionQuery): Promise<{ missions: Mission[]; next_cursor: string | null }>
}

export type MissionChange =
  /**
   * Rejected with `exists` if the id is taken, with `mission_moved` if the session has a mission that is not
   * over.
   */
  | { do: 'mission.add'; mission: NewMission }
  /**
   * Guard and change: rejected with `mission_moved` unless it has one of these statuses. `state` is merged
   * into the stored one.
   */
  | {
      do: 'mission.move'
      mission_id: string
      /** Root of the tree, whose version changes. */
      root_id: string
      from: readonly MissionStatus[]
      to: MissionStatus
      iteration?: number
      state?: MissionState
    }

/** A mission as it is stored. */
export type StoredMission = Omit<Mission, 'definition' | 'state'> & { definition: string; state: string }

const ownMission = ownColumns<StoredMission>({
  mission_id: true,
  session_id: true,
  org_id: true,
  created_by: true,
  created_by_kind: true,
  kind: true,
  key: true,
  status: true,
  iteration: true,
  created_at: true,
  ended_at: true,
  definition: true,
  state: true,
})

export const toMission = (row: Keyed<StoredMission>): Mission => ({
  ...ownMission(row),
  definition: JSON.parse(row.definition) as MissionDefinition,
  state: JSON.parse(row.state) as MissionState,
})

export const storedMission = (mission: NewMission, at: number): Omit<StoredMission, 'key'> => ({
  ...mission,
  definition: JSON.stringify(mission.definition),
  status: 'active',
  iteration: 0,
  state: '{}',
  created_at: at,
  ended_at: null,
})

type Moved = Pick<StoredMission, 'status' | 'iteration' | 'state' | 'ended_at'>

/** The mission after a change; rejected if its status is not one that the change starts from. */
export function moveMission(
  mission: StoredMission | undefined,
  { mission_id, from, to, iteration, state }: Extract<MissionChange, { do: 'mission.move' }>,
  { row, at }: ChangeContext,
): Moved {
  if (mission === undefined || !from.includes(mission.status))
    throw missionRefusals.moved(row, mission_id, mission?.status)
  return {
    status: to,
    iteration: iteration ?? mission.iteration,
    state: JSON.stringify({ ...(JSON.parse(mission.state) as MissionState), ...state }),
    ended_at: isMissionOver(to) ? at : null,
  }
}

/** `rows` has one more than the limit if there is a next page. */
export function missionPage(
  rows: readonly StoredMission[],
  limit: number,
): { missions: Mission[]; next_cursor: string | null } {
  const { found, next_cursor } = page(rows, limit, row => row.key, toMission)
  return { missions: found, next_cursor }
}

export const missionChanges: Resource<MissionChange, MissionReads>['changes'] = {
  'mission.add': {
    trees: ({ mission }) => [mission.session_id],
    redact: (change, redact) => ({ ...change, mission: redactJson(redact, change.mission) }),
  },
  'mission.move': {
    trees: ({ root_id }) => [root_id],
    redact: (change, redact) =>
      change.state === undefined ? change : { ...change, state: redactJson(redact, change.state) },
  },
}

/** Refusals of changes to missions, worded alike for all stores. */
export const missionRefusals = {
  exists: (row: StoredSession, mission: string) =>
    new Refusing('exists', `[commit] mission ${mission} exists already`, row),
  underWay: (row: StoredSession, { mission_id, status }: Pick<StoredMission, 'mission_id' | 'status'>) =>
    new Refusing('mission_moved', `[commit] session ${row.id} has mission ${mission_id}: ${status}`, row),
  moved: (row: StoredSession, mission: string, status: string | undefined) =>
    new Refusing('mission_moved', `[commit] mission ${mission} is ${status ?? 'missing'}`, row),
}

/**
 * Missions: a goal that a session and its children work on in rounds. The row has what a listing and a guard
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
import { isMissionOver } from '@cairn/protocol/words'
import { page } from './listing.ts'

/** What was asked for; it never changes. */
export type MissionDefinition = {
  description: string
  rubric: string
  max_iterations: number
  budget?: SessionBudget
  /** Of kind research; the same as its research.defined says. */
  research?: ResearchSettings
}
/** What came of it so far; each is absent until there is something to say. */
export type MissionState = {
  /** Why it was paused or cancelled. */
  reason?: string | null
  /** Who moved it last, where that was a person. */
  decided_by?: Pick<Principal, 'kind' | 'id'> | null
  last_evaluation?: { result: string; explanation: string; feedback: string; at: string }
  /** All of them: a later mission of the session takes the place of this one in the fold of its log. */
  verdicts?: MissionDetail['verdicts']
  /** Of kind research, as of the last harvest and report. */
  research?: Pick<ResearchView['run'], 'best_score' | 'consecutive_non_improving' | 'level'>
  report?: ResearchView['run']['report']
  /** Of the whole tree since the definition, at the last verdict. */
  spent?: { tokens: number; cost_usd: number }
}
export type NewMission = {
  mission_id: string
  /** Its coordinator: a root. */
  session_id: string
  org_id: string
  created_by: string
  created_by_kind: Principal['kind']
  kind: 'mission' | 'research'
  definition: MissionDefinition
}
export type Mission = NewMission & {
  /** Where a listing goes on; rises with each mission. */
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

export type MissionChange =
  /**
   * Refused with `exists` when there is one of that id, with `mission_moved` when the session has one that is
   * not over.
   */
  | { do: 'mission.add'; mission: NewMission }
  /**
   * Guard and change: refused with `mission_moved` unless it is in one of these. `state` adds to what there
   * is.
   */
  | {
      do: 'mission.move'
      mission_id: string
      /** Of the tree, whose version changes. */
      root_id: string
      from: readonly MissionStatus[]
      to: MissionStatus
      iteration?: number
      state?: MissionState
    }

// ---- as the stores hold them
// -----------------------------------------------------------------------------------------

export type StoredMission = Omit<Mission, 'definition' | 'state'> & { definition: string; state: string }

export const toMission = (row: StoredMission): Mission => ({
  ...row,
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

/** What a move makes of a mission; null: it is in none of the states that the move is from. */
export function movedMission(
  row: StoredMission,
  { from, to, iteration, state }: Extract<MissionChange, { do: 'mission.move' }>,
  at: number,
): Moved | null {
  if (!from.includes(row.status)) return null
  return {
    status: to,
    iteration: iteration ?? row.iteration,
    state: JSON.stringify({ ...(JSON.parse(row.state) as MissionState), ...state }),
    ended_at: isMissionOver(to) ? at : null,
  }
}

/** `rows` hold one more than the limit when there is a next page. */
export function missionPage(
  rows: readonly StoredMission[],
  limit: number,
): { missions: Mission[]; next_cursor: string | null } {
  const { found, next_cursor } = page([...rows], limit, row => row.key, toMission)
  return { missions: found, next_cursor }
}

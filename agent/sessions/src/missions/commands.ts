/**
 * Operator commands on a mission: pause, resume, cancel, each over the coordinator and its subtree in one
 * commit (contract 14.5). The mission's row is the guard: of two concurrent commands, one is rejected and
 * retries.
 */
import type { Commit, LinkedCommit, Mission, RowChange } from '@cairn/log'
import { AppError, type EventDraft, type MissionStatus, type Principal } from '@cairn/protocol'
import { stopRun } from '../code/runs.ts'
import { readMission } from './define.ts'
import type { Deps } from '../deps.ts'
import { sessionResumed, sessionStopped } from '../events/lifecycle.ts'
import { missionCancelled, missionPaused, missionResumed } from '../events/missions.ts'
import { missionResumption } from './messages.ts'
import { deciderOf, principalStamp } from '../principal-stamp.ts'
import { readFolded } from '../read-folded.ts'
import { type TreeSnapshot, commitTree } from '../tree/commit-tree.ts'
import { endDescendants, expireWaiting } from '../tree/end-tree.ts'
import { pauseDescendants, resumeDescendants } from '../tree/pause-tree.ts'
import { dropMissionTimer, missionTimer } from '../tree/timers.ts'

/** The operator; null if the server acts because the coordinator was stopped or archived. */
export type Operator = Principal | null
type MissionCommit = Pick<Commit, 'events'> & { rows: RowChange[]; also: LinkedCommit[] }

export async function pauseMission(
  deps: Deps,
  found: Mission,
  operator: Operator,
  reason: string | null,
): Promise<Mission> {
  await changeMission(deps, 'pause the mission of', found, ['active'], async (tree, mission) => {
    const part = await composePause(deps, tree, mission, operator, reason)
    const folded = (await readFolded(deps.store, tree.session.id)).states.mission
    const isGraded = folded !== null && folded.open !== null
    return endTurn(deps, tree, part, 'mission_paused', isAtWork(tree) && !isGraded)
  })
  return readMission(deps, found.mission_id)
}

/** Pauses its workers too. An evaluator that is running keeps its verdict. */
export async function composePause(
  deps: Deps,
  tree: TreeSnapshot,
  { mission_id, session_id }: Pick<Mission, 'mission_id' | 'session_id'>,
  operator: Operator,
  reason: string | null,
): Promise<MissionCommit> {
  return {
    events: [missionPaused({ mission_id, reason, ...principalStamp(operator) })],
    rows: [moved(mission_id, session_id, ['active'], 'paused', operator, reason)],
    also: await pauseDescendants(deps, tree),
  }
}

export async function resumeMission(
  deps: Deps,
  found: Mission,
  operator: Operator,
  note?: string,
): Promise<Mission> {
  await changeMission(deps, 'resume the mission of', found, ['paused', 'blocked'], async (tree, mission) => {
    const obstacle = resumeObstacle(mission)
    if (obstacle !== null)
      throw new AppError('wrong_state', obstacle, { extra: { mission_status: mission.status } })
    const part = await composeResume(deps, tree, mission, operator, note)
    return {
      ...part,
      session_id: mission.session_id,
      expect_status: [tree.session.status],
      reopen: sessionResumed('mission'),
      reopen_from: ['paused', 'completed', 'failed'],
    }
  })
  return readMission(deps, found.mission_id)
}

/** Why a stopped mission cannot be resumed, in words; null if it can. */
export const resumeObstacle = ({ iteration, definition: { max_iterations } }: Mission): string | null =>
  iteration < max_iterations
    ? null
    : `Cannot resume the mission: all ${max_iterations} rounds were graded. Cancel it and start another.`

export async function composeResume(
  deps: Deps,
  tree: TreeSnapshot,
  mission: Mission,
  operator: Operator,
  note?: string,
): Promise<MissionCommit> {
  const { mission_id, session_id, status } = mission
  const { states } = await readFolded(deps.store, session_id)
  if (states.mission?.mission_id !== mission_id)
    throw new Error(`[resumeMission] mission ${mission_id} is not in the log of ${session_id}`)
  const minutes = minutesLeft(mission, deps.now())
  return {
    events: [
      missionResumed({ mission_id, ...principalStamp(operator) }),
      missionResumption(states.mission, note),
    ],
    rows: [
      moved(mission_id, session_id, [status], 'active', operator, null),
      ...(minutes === null ? [] : [missionTimer(mission, minutes)]),
    ],
    also: await resumeDescendants(deps, tree),
  }
}

const minutesLeft = ({ definition: { budget }, created_at }: Mission, now: number): number | null =>
  budget?.max_minutes === undefined ? null : budget.max_minutes - (now - created_at) / 60_000

export type CancelMission = { reason: string | null; cascade_to_workers: boolean }

export async function cancelMission(
  deps: Deps,
  found: Mission,
  operator: Operator,
  how: CancelMission,
): Promise<Mission> {
  await changeMission(deps, 'cancel the mission of', found, CANCELLABLE, async (tree, mission) =>
    endTurn(
      deps,
      tree,
      await composeCancelMission(deps, tree, mission, operator, how),
      'mission_cancelled',
      // Workers that end with the mission wake no session, so a turn that waits for them must be ended here.
      isAtWork(tree) || (how.cascade_to_workers && waits(tree)),
    ),
  )
  return readMission(deps, found.mission_id)
}

const CANCELLABLE: readonly MissionStatus[] = ['active', 'paused', 'blocked']

/**
 * Without a cascade its workers become ordinary workers: those that the mission had paused are resumed,
 * unless the session is paused too.
 */
export async function composeCancelMission(
  deps: Deps,
  tree: TreeSnapshot,
  { mission_id, session_id }: Pick<Mission, 'mission_id' | 'session_id'>,
  operator: Operator,
  { reason, cascade_to_workers }: CancelMission,
): Promise<MissionCommit> {
  const below = cascade_to_workers
    ? await endDescendants(deps, tree, 'cancelled')
    : {
        events: [],
        rows: [],
        parts: tree.session.status === 'paused' ? [] : await resumeDescendants(deps, tree),
      }
  return {
    // The usage of its workers belongs to the mission, so their outcomes precede its end.
    events: [
      ...below.events,
      missionCancelled({ mission_id, reason, cascade_to_workers, ...principalStamp(operator) }),
    ],
    rows: [
      moved(mission_id, session_id, CANCELLABLE, 'cancelled', operator, reason),
      dropMissionTimer(mission_id),
      ...below.rows,
    ],
    also: below.parts,
  }
}

/** For an archived coordinator: its workers end with it. */
export const cancelledWithSession = ({
  mission_id,
  session_id,
}: Mission): { events: EventDraft[]; rows: RowChange[] } => ({
  events: [missionCancelled({ mission_id, reason: 'archived', cascade_to_workers: true })],
  rows: [
    moved(mission_id, session_id, CANCELLABLE, 'cancelled', null, 'archived'),
    dropMissionTimer(mission_id),
  ],
})

const moved = (
  mission_id: string,
  root_id: string,
  from: readonly MissionStatus[],
  to: MissionStatus,
  operator: Operator,
  reason: string | null,
): RowChange => ({
  do: 'mission.move',
  mission_id,
  root_id,
  from,
  to,
  state: { reason, decided_by: operator === null ? null : deciderOf(operator) },
})

/** True if a runner runs the turn, or is about to. */
const isAtWork = ({ session }: TreeSnapshot): boolean =>
  session.status === 'active' && (session.lease !== null || session.wake_id > session.cursor)

/** True if the turn is open and waits for a person or for workers. */
const waits = ({ session, descendants }: TreeSnapshot): boolean =>
  session.status === 'active' && (session.waiting_on !== null || descendants.length > 0)

/** `ends`: the commit also ends the turn of the coordinator, and its coding run. */
async function endTurn(
  deps: Deps,
  { session }: TreeSnapshot,
  { events, rows, also }: MissionCommit,
  reason: string,
  ends: boolean,
): Promise<Commit> {
  const changed = { session_id: session.id, events, expect_status: [session.status], rows, also }
  if (!ends) return changed
  const run = await stopRun(deps, session)
  return {
    ...changed,
    events: [...events, sessionStopped(reason), ...run.events],
    rows: [...run.rows, ...rows, expireWaiting],
    revoke_lease: true,
    cursor: 'self',
  }
}

/** Composes again while the tree changes, which includes the mission's own state. */
async function changeMission(
  deps: Deps,
  operation: string,
  { mission_id, session_id }: Mission,
  from: readonly MissionStatus[],
  compose: (tree: TreeSnapshot, mission: Mission) => Promise<Commit>,
): Promise<void> {
  await commitTree(deps, operation, session_id, async tree => {
    const mission = await readMission(deps, mission_id)
    if (!from.includes(mission.status)) throw wrongStatus(operation, mission, from)
    return compose(tree, mission)
  })
}

function wrongStatus(operation: string, { status }: Mission, from: readonly MissionStatus[]): AppError {
  const verb = operation.split(' ')[0] ?? operation
  return new AppError(
    'wrong_state',
    `Cannot ${verb} a mission that is ${status.replaceAll('_', ' ')}: it must be ${from.join(' or ')}.`,
    { extra: { mission_status: status } },
  )
}

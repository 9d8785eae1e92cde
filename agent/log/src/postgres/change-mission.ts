/** Changes to missions within a commit on Postgres, under the locks of its sessions and trees. */
import { missionRefusals } from '../change-mission.ts'
import { type MissionChange, movedMission, storedMission, type StoredMission } from '../missions.ts'
import type { StoredSession } from '../session-rows.ts'
import { MOVE_TREE } from './change-link.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

const MISSION = statement('mission_to_move', 'SELECT * FROM missions WHERE mission_id = $1')
const UNDER_WAY = statement(
  'mission_under_way',
  'SELECT * FROM missions WHERE session_id = $1 AND ended_at IS NULL',
)
const ADD_MISSION = statement(
  'add_mission',
  'INSERT INTO missions (mission_id, session_id, org_id, created_by, created_by_kind, kind, definition, ' +
    'status, iteration, state, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ' +
    'ON CONFLICT (mission_id) DO NOTHING RETURNING mission_id',
)
const MOVE_MISSION = statement(
  'move_mission',
  'UPDATE missions SET status = $2, iteration = $3, state = $4, ended_at = $5 WHERE mission_id = $1',
)

export async function changeMission(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: MissionChange,
): Promise<void> {
  if (change.do === 'mission.add') {
    const mission = storedMission(change.mission, at)
    // First: it locks the tree, even if that has no row yet.
    await ask(MOVE_TREE, [mission.session_id])
    const [before] = await ask(UNDER_WAY, [mission.session_id])
    if (before !== undefined && before['mission_id'] !== mission.mission_id)
      throw missionRefusals.underWay(row, before as StoredMission)
    const added = await ask(ADD_MISSION, [
      mission.mission_id,
      mission.session_id,
      mission.org_id,
      mission.created_by,
      mission.created_by_kind,
      mission.kind,
      mission.definition,
      mission.status,
      mission.iteration,
      mission.state,
      mission.created_at,
    ])
    if (added.length === 0) throw missionRefusals.exists(row, mission.mission_id)
    return
  }
  await ask(MOVE_TREE, [change.root_id])
  const found = (await ask(MISSION, [change.mission_id]))[0] as StoredMission | undefined
  const moved = found === undefined ? null : movedMission(found, change, at)
  if (moved === null) throw missionRefusals.moved(row, change.mission_id, found?.status)
  const { status, iteration, state, ended_at } = moved
  await ask(MOVE_MISSION, [change.mission_id, status, iteration, state, ended_at])
}

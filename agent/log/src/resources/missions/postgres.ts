/** Missions on Postgres; changes run under the locks of their sessions and trees. */
import { parseCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { MOVE_TREE } from '../links/postgres.ts'
import {
  type MissionChange,
  missionPage,
  type MissionReads,
  missionRefusals,
  movedMission,
  storedMission,
  type StoredMission,
  toMission,
} from './row.ts'

const MISSION: Statement = { name: 'mission', text: `SELECT * FROM missions WHERE mission_id = $1` }
const UNDER_WAY: Statement = {
  name: 'mission_under_way',
  text: `SELECT * FROM missions WHERE session_id = $1 AND ended_at IS NULL`,
}
const ADD: Statement = {
  name: 'add_mission',
  text: `
    INSERT INTO missions (mission_id, session_id, org_id, created_by, created_by_kind, kind, definition,
      status, iteration, state, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (mission_id) DO NOTHING
    RETURNING mission_id`,
}
const MOVE: Statement = {
  name: 'move_mission',
  text: `UPDATE missions SET status = $2, iteration = $3, state = $4, ended_at = $5 WHERE mission_id = $1`,
}
const MISSIONS: Statement = {
  name: 'missions',
  text: `
    SELECT * FROM missions
    WHERE org_id = $1 AND ($2::text IS NULL OR created_by = $2) AND ($3::text IS NULL OR session_id = $3)
      AND ($4::text[] IS NULL OR status = ANY($4::text[])) AND key < $5
    ORDER BY key DESC LIMIT $6`,
}

export const missionsOnPostgres: Resource<MissionChange, MissionReads>['postgres'] = {
  changes: {
    async 'mission.add'(ask, change, { row, at }) {
      const mission = storedMission(change.mission, at)
      // First: it locks the tree, even if that has no row yet.
      await ask(MOVE_TREE, [mission.session_id])
      const [before] = await ask(UNDER_WAY, [mission.session_id])
      if (before !== undefined && before['mission_id'] !== mission.mission_id)
        throw missionRefusals.underWay(row, before as StoredMission)
      const added = await ask(ADD, [
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
    },
    async 'mission.move'(ask, change, { row, at }) {
      await ask(MOVE_TREE, [change.root_id])
      const found = (await ask(MISSION, [change.mission_id]))[0] as StoredMission | undefined
      const moved = found === undefined ? null : movedMission(found, change, at)
      if (moved === null) throw missionRefusals.moved(row, change.mission_id, found?.status)
      const { status, iteration, state, ended_at } = moved
      await ask(MOVE, [change.mission_id, status, iteration, state, ended_at])
    },
  },

  store: ({ db }) => ({
    async mission(missionId) {
      const [row] = await db.query(MISSION, [missionId], { repeatable: true })
      return row === undefined ? null : toMission(row as StoredMission)
    },
    async missionOf(sessionId) {
      const [row] = await db.query(UNDER_WAY, [sessionId], { repeatable: true })
      return row === undefined ? null : toMission(row as StoredMission)
    },
    async missions({ org_id, created_by, session_id, status, limit, cursor }) {
      const rows = await db.query(
        MISSIONS,
        [
          org_id,
          created_by ?? null,
          session_id ?? null,
          status === undefined ? null : [...status],
          parseCursor(cursor),
          limit + 1,
        ],
        { repeatable: true },
      )
      return missionPage(rows as StoredMission[], limit)
    },
  }),
}

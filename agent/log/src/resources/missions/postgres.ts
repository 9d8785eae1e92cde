/** Missions on Postgres; changes run under the locks of their sessions and trees. */
import { addToDirectory, makeKey, orgNamed, orgOf } from '../../engine/directory.ts'
import { parseCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { MOVE_TREE } from '../links/postgres.ts'
import {
  type MissionChange,
  missionPage,
  type MissionReads,
  missionRefusals,
  moveMission,
  storedMission,
  type StoredMission,
  toMission,
} from './row.ts'

const MISSION: Statement = {
  name: 'mission',
  text: `SELECT * FROM missions WHERE org_key = ${orgOf('mission', '$1')} AND mission_id = $1`,
}
const MISSION_TO_MOVE: Statement = {
  name: 'mission_to_move',
  text: `SELECT * FROM missions WHERE org_key = $1 AND mission_id = $2`,
}
const MISSION_OF_SESSION: Statement = {
  name: 'mission_of_session',
  text: `
    SELECT * FROM missions
    WHERE org_key = ${orgOf('session', '$1')} AND session_id = $1 AND ended_at IS NULL`,
}
const UNDER_WAY: Statement = {
  name: 'mission_under_way',
  text: `SELECT * FROM missions WHERE org_key = $1 AND session_id = $2 AND ended_at IS NULL`,
}
const ADD: Statement = {
  name: 'add_mission',
  text: `
    WITH entry AS (${addToDirectory('mission', '$1', '$12')})
    INSERT INTO missions (mission_id, session_id, org_id, created_by, created_by_kind, kind, definition,
      status, iteration, state, created_at, org_key, key)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, $10, $11::bigint, $12,
      greatest($13::bigint, (SELECT coalesce(max(key), 0) + 1 FROM missions WHERE org_key = $12)) FROM entry
    RETURNING mission_id`,
}
const MOVE: Statement = {
  name: 'move_mission',
  text: `
    UPDATE missions SET status = $2, iteration = $3, state = $4, ended_at = $5
    WHERE org_key = $6 AND mission_id = $1`,
}
const MISSIONS: Statement = {
  name: 'missions',
  text: `
    SELECT * FROM missions
    WHERE org_key = ${orgNamed('$1')} AND ($2::text IS NULL OR created_by = $2) AND ($3::text IS NULL OR session_id = $3)
      AND ($4::text[] IS NULL OR status = ANY($4::text[])) AND key < $5
    ORDER BY key DESC LIMIT $6`,
}

export const missionsOnPostgres: Resource<MissionChange, MissionReads>['postgres'] = {
  changes: {
    async 'mission.add'(ask, change, { row, at }) {
      const mission = storedMission(change.mission, at)
      // First: it locks the tree, even if that has no row yet.
      await ask(MOVE_TREE, [row.org_key, mission.session_id])
      const [before] = await ask(UNDER_WAY, [row.org_key, mission.session_id])
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
        row.org_key,
        makeKey(at),
      ])
      if (added.length === 0) throw missionRefusals.exists(row, mission.mission_id)
    },
    async 'mission.move'(ask, change, context) {
      const { org_key } = context.row
      await ask(MOVE_TREE, [org_key, change.root_id])
      const found = (await ask(MISSION_TO_MOVE, [org_key, change.mission_id]))[0] as StoredMission | undefined
      const { status, iteration, state, ended_at } = moveMission(found, change, context)
      await ask(MOVE, [change.mission_id, status, iteration, state, ended_at, org_key])
    },
  },

  store: ({ db }) => ({
    async get(missionId) {
      const [row] = await db.query(MISSION, [missionId], { repeatable: true })
      return row === undefined ? null : toMission(row as StoredMission)
    },
    async current(sessionId) {
      const [row] = await db.query(MISSION_OF_SESSION, [sessionId], { repeatable: true })
      return row === undefined ? null : toMission(row as StoredMission)
    },
    async list({ org_id, created_by, session_id, status, limit, cursor }) {
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

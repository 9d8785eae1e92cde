/** Missions on the embedded store. */
import { parseCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import { prepareMoveTree } from '../links/sqlite.ts'
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

const MISSION = `SELECT * FROM missions WHERE mission_id = ?`
const UNDER_WAY = `SELECT * FROM missions WHERE session_id = ? AND ended_at IS NULL`

export const missionsOnSqlite: Resource<MissionChange, MissionReads>['sqlite'] = {
  changes(db) {
    const mission = db.prepare(MISSION)
    const underWay = db.prepare(UNDER_WAY)
    const add = db.prepare(`
      INSERT INTO missions (mission_id, session_id, org_id, created_by, created_by_kind, kind, definition,
        status, iteration, state, created_at, ended_at)
      VALUES (:mission_id, :session_id, :org_id, :created_by, :created_by_kind, :kind, :definition,
        :status, :iteration, :state, :created_at, :ended_at)`)
    const move = db.prepare(`
      UPDATE missions
      SET status = :status, iteration = :iteration, state = :state, ended_at = :ended_at
      WHERE mission_id = :mission_id`)
    const moveTree = prepareMoveTree(db)
    return {
      'mission.add'(change, { row, at }) {
        const { mission_id, session_id } = change.mission
        if (mission.get(mission_id) !== undefined) throw missionRefusals.exists(row, mission_id)
        const before = underWay.get(session_id) as StoredMission | undefined
        if (before !== undefined) throw missionRefusals.underWay(row, before)
        add.run(storedMission(change.mission, at))
        moveTree(session_id)
      },
      'mission.move'(change, { row, at }) {
        const found = mission.get(change.mission_id) as StoredMission | undefined
        const moved = found === undefined ? null : movedMission(found, change, at)
        if (moved === null) throw missionRefusals.moved(row, change.mission_id, found?.status)
        move.run({ ...moved, mission_id: change.mission_id })
        moveTree(change.root_id)
      },
    }
  },

  reads(db) {
    const mission = db.prepare(MISSION)
    const underWay = db.prepare(UNDER_WAY)
    const missions = db.prepare(`
      SELECT * FROM missions
      WHERE org_id = :org_id AND (:created_by IS NULL OR created_by = :created_by)
        AND (:session_id IS NULL OR session_id = :session_id)
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status))) AND key < :before
      ORDER BY key DESC LIMIT :limit`)
    return {
      mission(missionId) {
        const row = mission.get(missionId) as StoredMission | undefined
        return row === undefined ? null : toMission(row)
      },
      missionOf(sessionId) {
        const row = underWay.get(sessionId) as StoredMission | undefined
        return row === undefined ? null : toMission(row)
      },
      missions({ org_id, created_by, session_id, status, limit, cursor }) {
        const rows = missions.all({
          org_id,
          created_by: created_by ?? null,
          session_id: session_id ?? null,
          status: status === undefined ? null : JSON.stringify(status),
          before: parseCursor(cursor),
          limit: limit + 1,
        }) as StoredMission[]
        return missionPage(rows, limit)
      },
    }
  },
}

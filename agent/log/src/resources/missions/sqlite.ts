/** Missions on the embedded store. */
import { addToDirectory, makeKey, orgNamed, orgOf } from '../../engine/directory.ts'
import { parseCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import { prepareMoveTree } from '../links/sqlite.ts'
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

export const missionsOnSqlite: Resource<MissionChange, MissionReads>['sqlite'] = {
  changes(db) {
    const mission = db.prepare(`SELECT * FROM missions WHERE org_key = ? AND mission_id = ?`)
    const underWay = db.prepare(`
      SELECT * FROM missions WHERE org_key = ? AND session_id = ? AND ended_at IS NULL`)
    const enter = db.prepare(addToDirectory('mission', '?', '?'))
    const add = db.prepare(`
      INSERT INTO missions (org_key, key, mission_id, session_id, org_id, created_by, created_by_kind, kind, definition,
        status, iteration, state, created_at, ended_at)
      VALUES (:org_key,
        max(:key, (SELECT coalesce(max(key), 0) + 1 FROM missions WHERE org_key = :org_key)), :mission_id, :session_id, :org_id, :created_by, :created_by_kind, :kind, :definition,
        :status, :iteration, :state, :created_at, :ended_at)`)
    const move = db.prepare(`
      UPDATE missions
      SET status = :status, iteration = :iteration, state = :state, ended_at = :ended_at
      WHERE org_key = :org_key AND mission_id = :mission_id`)
    const moveTree = prepareMoveTree(db)
    return {
      'mission.add'(change, { row, at }) {
        const { mission_id, session_id } = change.mission
        if (enter.get(mission_id, row.org_key) === undefined) throw missionRefusals.exists(row, mission_id)
        const before = underWay.get(row.org_key, session_id) as StoredMission | undefined
        if (before !== undefined) throw missionRefusals.underWay(row, before)
        add.run({ ...storedMission(change.mission, at), org_key: row.org_key, key: makeKey(at) })
        moveTree(row.org_key, session_id)
      },
      'mission.move'(change, context) {
        const { org_key } = context.row
        const found = mission.get(org_key, change.mission_id) as StoredMission | undefined
        move.run({ ...moveMission(found, change, context), org_key, mission_id: change.mission_id })
        moveTree(org_key, change.root_id)
      },
    }
  },

  reads(db) {
    const mission = db.prepare(`
      SELECT * FROM missions WHERE org_key = ${orgOf('mission', '?1')} AND mission_id = ?1`)
    const underWay = db.prepare(`
      SELECT * FROM missions
      WHERE org_key = ${orgOf('session', '?1')} AND session_id = ?1 AND ended_at IS NULL`)
    const missions = db.prepare(`
      SELECT * FROM missions
      WHERE org_key = ${orgNamed(':org_id')} AND (:created_by IS NULL OR created_by = :created_by)
        AND (:session_id IS NULL OR session_id = :session_id)
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status))) AND key < :before
      ORDER BY key DESC LIMIT :limit`)
    return {
      get(missionId) {
        const row = mission.get(missionId) as StoredMission | undefined
        return row === undefined ? null : toMission(row)
      },
      current(sessionId) {
        const row = underWay.get(sessionId) as StoredMission | undefined
        return row === undefined ? null : toMission(row)
      },
      list({ org_id, created_by, session_id, status, limit, cursor }) {
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

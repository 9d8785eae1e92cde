/** Changes to missions within a commit, inside the writer's transaction. */
import { Refusing } from './commit-rules.ts'
import type { LinkSql } from './link-sql.ts'
import { type MissionChange, movedMission, storedMission, type StoredMission } from './missions.ts'
import type { StoredSession } from './session-rows.ts'

/** Refusals of changes to missions, worded alike for all stores. */
export const missionRefusals = {
  exists: (row: StoredSession, mission: string) =>
    new Refusing('exists', `[commit] mission ${mission} exists already`, row),
  underWay: (row: StoredSession, { mission_id, status }: Pick<StoredMission, 'mission_id' | 'status'>) =>
    new Refusing('mission_moved', `[commit] session ${row.id} has mission ${mission_id}: ${status}`, row),
  moved: (row: StoredSession, mission: string, status: string | undefined) =>
    new Refusing('mission_moved', `[commit] mission ${mission} is ${status ?? 'missing'}`, row),
}

export function changeMission(sql: LinkSql, row: StoredSession, at: number, change: MissionChange): void {
  if (change.do === 'mission.add') {
    const { mission_id, session_id } = change.mission
    if (sql.mission.get(mission_id) !== undefined) throw missionRefusals.exists(row, mission_id)
    const before = sql.missionUnderWay.get(session_id) as StoredMission | undefined
    if (before !== undefined) throw missionRefusals.underWay(row, before)
    sql.addMission.run(storedMission(change.mission, at))
    sql.moveTree.run(session_id)
    return
  }
  const found = sql.mission.get(change.mission_id) as StoredMission | undefined
  const moved = found === undefined ? null : movedMission(found, change, at)
  if (moved === null) throw missionRefusals.moved(row, change.mission_id, found?.status)
  sql.moveMission.run({ ...moved, mission_id: change.mission_id })
  sql.moveTree.run(change.root_id)
}

/** Reads of missions and their research on the embedded store. */
import type { CoordinationStore } from './links.ts'
import { parseCursor } from './listing.ts'
import { missionPage, type StoredMission, toMission } from './missions.ts'
import type { ResearchReads } from './research.ts'
import type { Db } from './sqlite-adapter.ts'
import { createResearchReader } from './sqlite-research.ts'

/** Synchronous reads of the coordination store. */
export type ReadsOf<K extends keyof CoordinationStore> = {
  [N in K]: (...args: Parameters<CoordinationStore[N]>) => Awaited<ReturnType<CoordinationStore[N]>>
}

export function createMissionReader(
  db: Db,
): ReadsOf<'mission' | 'missionOf' | 'missions' | keyof ResearchReads> {
  const mission = db.prepare('SELECT * FROM missions WHERE mission_id = ?')
  const missionOf = db.prepare('SELECT * FROM missions WHERE session_id = ? AND ended_at IS NULL')
  const missions = db.prepare(
    'SELECT * FROM missions WHERE org_id = :org_id AND (:created_by IS NULL OR created_by = :created_by) ' +
      'AND (:session_id IS NULL OR session_id = :session_id) AND (:status IS NULL OR status IN (SELECT ' +
      'value FROM json_each(:status))) AND key < :before ORDER BY key DESC LIMIT :limit',
  )
  return {
    ...createResearchReader(db),
    mission(missionId) {
      const row = mission.get(missionId) as StoredMission | undefined
      return row === undefined ? null : toMission(row)
    },
    missionOf(sessionId) {
      const row = missionOf.get(sessionId) as StoredMission | undefined
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
}

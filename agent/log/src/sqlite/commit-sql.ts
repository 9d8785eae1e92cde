/** The statements of a commit, prepared once for the writer's connection. */
import type { ChangeContext } from '../engine/resource.ts'
import { SELECT_SESSION, waitingSql } from '../engine/session-rows.ts'
import { type EncodedRow, mergeChanges } from '../resources/index.ts'
import { LINK } from '../resources/links/sqlite.ts'
import type { Db } from './adapter.ts'
import { prepareClaimSql } from './claim-sql.ts'
import { GROWING, MOVING } from './packed-session.ts'

const updateSession = (columns: readonly string[]): string =>
  `UPDATE sessions SET ${columns.map(column => `${column} = ?`).join(', ')}, recent = ? WHERE key = ?`

type ApplyChange = (change: EncodedRow, context: ChangeContext) => readonly string[] | void

export function prepareCommitSql(db: Db) {
  return {
    session: db.prepare(`${SELECT_SESSION} WHERE s.id = :id`),
    updateSession: db.prepare(updateSession(MOVING)),
    // These columns are in no index, so the update writes no index.
    growSession: db.prepare(updateSession(GROWING)),
    insertSession: db.prepare(`
      INSERT INTO sessions (id, org_id, created_by, created_by_kind, agent, channel, status, title, model,
        parent_id, config, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)`),
    insertPosition: db.prepare(`INSERT INTO event_positions (session_key, id, pos) VALUES (?, ?, ?)`),
    insertEvent: db.prepare(`INSERT INTO events (session_key, id, at, type, json) VALUES (?, ?, ?, ?, ?)`),
    waiting: db.prepare(`SELECT (${waitingSql(':key', ':now')}) AS rank`),
    claims: prepareClaimSql(db),
    link: db.prepare(LINK),
    /** By the name of the change. */
    changes: mergeChanges(({ sqlite }) => sqlite.changes(db)) as Record<EncodedRow['do'], ApplyChange>,
  }
}
export type CommitSql = ReturnType<typeof prepareCommitSql>

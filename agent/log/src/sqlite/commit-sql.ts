/** The statements of a commit, prepared once for the writer's connection. */
import { addOrganisation, keyOf } from '../engine/directory.ts'
import type { ChangeContext } from '../engine/resource.ts'
import { SELECT_SESSION, waitingSql } from '../engine/session-rows.ts'
import { type EncodedRow, mergeChanges } from '../resources/index.ts'
import { LINK } from '../resources/links/sqlite.ts'
import type { Db } from './adapter.ts'
import { prepareClaimSql } from './claim-sql.ts'
import { GROWING, MOVING } from './packed-session.ts'

const updateSession = (columns: readonly string[]): string =>
  `UPDATE sessions SET ${columns.map(column => `${column} = ?`).join(', ')}, recent = ? WHERE pos = ?`

type ApplyChange = (change: EncodedRow, context: ChangeContext) => readonly string[] | void

export function prepareCommitSql(db: Db) {
  return {
    session: db.prepare(`${SELECT_SESSION} WHERE (s.org_key, s.key) = ${keyOf(':id')}`),
    updateSession: db.prepare(updateSession(MOVING)),
    // These columns are in no index, so the update writes no index.
    growSession: db.prepare(updateSession(GROWING)),
    insertSession: db.prepare(`
      INSERT INTO sessions (org_key, key, id, org_id, created_by, created_by_kind, agent, channel, status, title, model,
        parent_id, config, created_at, updated_at)
      VALUES (?1, max(?2, (SELECT coalesce(max(key), 0) + 1 FROM sessions WHERE org_key = ?1)),
        ?3, ?4, ?5, ?6, ?7, ?8, 'active', ?9, ?10, ?11, ?12, ?13, ?14)
      RETURNING key`),
    enterSession: db.prepare(`
      INSERT INTO directory (kind, id, org_key, key) VALUES ('session', ?, ?, ?)`),
    organisation: db.prepare(`SELECT org_key FROM organisations WHERE id = ?`),
    addOrganisation: db.prepare(addOrganisation('?1', '?1', '?2')),
    insertPosition: db.prepare(`
      INSERT INTO event_positions (org_key, session_key, id, pos) VALUES (?, ?, ?, ?)`),
    insertEvent: db.prepare(`
      INSERT INTO events (org_key, session_key, id, at, type, json) VALUES (?, ?, ?, ?, ?, ?)`),
    waiting: db.prepare(`SELECT (${waitingSql(':org_key', ':key', ':now')}) AS rank`),
    claims: prepareClaimSql(db),
    link: db.prepare(LINK),
    /** By the name of the change. */
    changes: mergeChanges(({ sqlite }) => sqlite.changes(db)) as Record<EncodedRow['do'], ApplyChange>,
  }
}
export type CommitSql = ReturnType<typeof prepareCommitSql>

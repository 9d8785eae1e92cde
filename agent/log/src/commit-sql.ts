/** The statements of a commit, prepared once for the writer's connection. */
import { BESIDE_SQL } from './inbox-rows.ts'
import { prepareClaimSql } from './claim-sql.ts'
import { prepareLinkSql } from './link-sql.ts'
import { prepareCodeRunSql } from './change-code-run.ts'
import { GROWING, MOVING } from './packed-session.ts'
import { runChannelSql } from './sqlite-channels.ts'
import { prepareResearchSql } from './research-sql.ts'
import { prepareScheduleSql } from './schedule-sql.ts'
import type { Db } from './sqlite-adapter.ts'
import { EXPIRES_WITH_STOP, SELECT_SESSION, waitingSql } from './session-rows.ts'

const updateSession = (columns: readonly string[]): string =>
  `UPDATE sessions SET ${columns.map(column => `${column} = ?`).join(', ')}, recent = ? WHERE key = ?`

const EXPIRE =
  "UPDATE inbox_items SET status = 'expired', decision = ?, responded_at = ? WHERE session_key = ? " +
  "AND status = 'pending'"

export function prepareCommitSql(db: Db) {
  return {
    session: db.prepare(`${SELECT_SESSION} WHERE s.id = :id`),
    updateSession: db.prepare(updateSession(MOVING)),
    // These columns are in no index, so the update writes no index.
    growSession: db.prepare(updateSession(GROWING)),
    insertSession: db.prepare(
      'INSERT INTO sessions (id, org_id, created_by, created_by_kind, agent, channel, status, title, ' +
        'model, parent_id, config, created_at, updated_at)\n' +
        "      VALUES (?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)",
    ),
    insertPosition: db.prepare('INSERT INTO event_positions (session_key, id, pos) VALUES (?, ?, ?)'),
    insertEvent: db.prepare('INSERT INTO events (session_key, id, at, type, json) VALUES (?, ?, ?, ?, ?)'),
    waiting: db.prepare(`SELECT (${waitingSql(':key', ':now')}) AS rank`),
    openItem: db.prepare(
      'INSERT INTO inbox_items (id, session_key, session_id, org_id, created_by, source_event_id, ' +
        'kind, status, title, body, payload, private, tool_call_id, created_at, expires_at)\n' +
        "      VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?)",
    ),
    item: db.prepare(`SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE id = ?`),
    itemOfCall: db.prepare(
      `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE session_key = ? AND tool_call_id = ? AND kind = ? ` +
        "ORDER BY status = 'pending' DESC, seq DESC LIMIT 1",
    ),
    answerItem: db.prepare(
      'UPDATE inbox_items SET status = ?, decision = ?, responded_at = ?, decided_by = ?, ' +
        "decided_by_kind = ? WHERE seq = ? AND status = 'pending' RETURNING seq",
    ),
    expireItems: db.prepare(`${EXPIRE} RETURNING id`),
    expireWaiting: db.prepare(`${EXPIRE} AND ${EXPIRES_WITH_STOP} RETURNING id`),
    markRead: db.prepare(
      `UPDATE inbox_items SET read_at = coalesce(read_at, ?) WHERE id = ? RETURNING *, ${BESIDE_SQL}`,
    ),
    addGrant: db.prepare(
      'INSERT INTO grants (id, session_key, tool, arguments_hash, granted_by, granted_by_kind, ' +
        'created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    consumeGrant: db.prepare(
      'DELETE FROM grants WHERE id = ? AND session_key = ? AND tool = ? AND arguments_hash = ? AND ' +
        'expires_at > ? RETURNING id',
    ),
    dropGrants: db.prepare('DELETE FROM grants WHERE session_key = ? AND expires_at <= ?'),
    addArtifact: db.prepare(
      'INSERT INTO artifacts (session_key, artifact_id, name, kind, version, size, created_at, spec) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    claims: prepareClaimSql(db),
    links: prepareLinkSql(db),
    channel: runChannelSql(db),
    research: prepareResearchSql(db),
    schedules: prepareScheduleSql(db),
    codeRuns: prepareCodeRunSql(db),
  }
}
export type CommitSql = ReturnType<typeof prepareCommitSql>

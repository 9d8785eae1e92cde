/** The statements of links, trees and timers, prepared once for the writer's connection. */
import type { Db } from './sqlite-adapter.ts'

/** The ids of a session's descendants, as a table `below`; the syntax works on both stores. */
export const descendantsSql = (id: string): string =>
  `WITH RECURSIVE below(id) AS (SELECT child_id FROM links WHERE parent_id = ${id} UNION\n` +
  '  SELECT l.child_id FROM links l JOIN below b ON l.parent_id = b.id)'

export function prepareLinkSql(db: Db) {
  return {
    link: db.prepare('SELECT * FROM links WHERE child_id = ?'),
    countOpen: db.prepare(
      `SELECT count(*) AS count FROM links WHERE parent_id = ? AND status = 'open' AND kind <> 'run'`,
    ),
    countSince: db.prepare('SELECT count(*) AS count FROM links WHERE root_id = ? AND opened_at > ?'),
    openLink: db.prepare(
      'INSERT INTO links (child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt, ' +
        'reserved_tokens, reserved_cost_usd, status, opened_at) VALUES (:child_id, :parent_id, :root_id, ' +
        ':depth, :kind, :tool_call_id, ' +
        ":task_id, :attempt, :reserved_tokens, :reserved_cost_usd, 'open', :at)",
    ),
    settleLink: db.prepare(
      'UPDATE links SET status = ?, cause = ?, input_tokens = ?, output_tokens = ?, cost_usd = ?, ' +
        "settled_at = ? WHERE child_id = ? AND status = 'open' RETURNING child_id",
    ),
    markLink: db.prepare('UPDATE links SET paused_by_parent = ? WHERE child_id = ?'),
    version: db.prepare('SELECT version FROM trees WHERE root_id = ?'),
    moveTree: db.prepare(
      'INSERT INTO trees (root_id, version) VALUES (?, 1) ON CONFLICT (root_id) DO UPDATE SET version ' +
        '= version + 1',
    ),
    task: db.prepare('SELECT * FROM tasks WHERE task_id = ?'),
    addTask: db.prepare(
      'INSERT INTO tasks (task_id, owner_id, root_id, goal, plan, after, max_attempts, status, ' +
        'attempt_count, state, created_at, started_at, ended_at) VALUES (:task_id, :owner_id, :root_id, ' +
        ':goal, :plan, :after, :max_attempts, :status, :attempt_count, :state, :created_at, :started_at, ' +
        ':ended_at)',
    ),
    moveTask: db.prepare(
      'UPDATE tasks SET status = :status, attempt_count = :attempt_count, state = :state, ' +
        'started_at = :started_at, ended_at = :ended_at WHERE task_id = :task_id',
    ),
    mission: db.prepare('SELECT * FROM missions WHERE mission_id = ?'),
    missionUnderWay: db.prepare('SELECT * FROM missions WHERE session_id = ? AND ended_at IS NULL'),
    addMission: db.prepare(
      'INSERT INTO missions (mission_id, session_id, org_id, created_by, created_by_kind, kind, ' +
        'definition, status, iteration, state, created_at, ended_at) VALUES (:mission_id, :session_id, ' +
        ':org_id, :created_by, :created_by_kind, :kind, :definition, :status, :iteration, :state, ' +
        ':created_at, :ended_at)',
    ),
    moveMission: db.prepare(
      'UPDATE missions SET status = :status, iteration = :iteration, state = :state, ended_at = :ended_at ' +
        'WHERE mission_id = :mission_id',
    ),
    boardSeq: db.prepare('SELECT board_seq FROM trees WHERE root_id = ?'),
    setBoardSeq: db.prepare(
      'INSERT INTO trees (root_id, version, board_seq) VALUES (?, 0, ?) ON CONFLICT (root_id) DO UPDATE ' +
        'SET board_seq = excluded.board_seq',
    ),
    addNote: db.prepare(
      'INSERT INTO board_notes (root_id, seq, writer_id, type, content, ref, status, created_at, ' +
        "expires_at) VALUES (:root_id, :seq, :writer_id, :type, :content, :ref, 'active', :at, :expires_at)",
    ),
    supersedeNote: db.prepare("UPDATE board_notes SET status = 'superseded' WHERE root_id = ? AND seq = ?"),
    renewNote: db.prepare('UPDATE board_notes SET expires_at = ? WHERE root_id = ? AND seq = ?'),
    setTimer: db.prepare(
      'INSERT OR REPLACE INTO timers (id, kind, session_id, due_at, data) VALUES (?, ?, ?, ?, ?)',
    ),
    fireTimer: db.prepare(
      'DELETE FROM timers WHERE id = ? AND claimed_by = ? AND claimed_until = ? RETURNING id',
    ),
    dropTimer: db.prepare('DELETE FROM timers WHERE id = ?'),
    claimTimers: db.prepare(
      'UPDATE timers SET claimed_by = :by, claimed_until = :until WHERE id IN (\n' +
        '        SELECT id FROM timers WHERE due_at <= :now AND claimed_until <= :now ORDER BY due_at ' +
        'LIMIT :limit) RETURNING *',
    ),
  }
}
export type LinkSql = ReturnType<typeof prepareLinkSql>

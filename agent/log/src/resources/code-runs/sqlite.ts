/** Coding runs on the embedded store. */
import { orgOf } from '../../engine/directory.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import { type CodeRun, type CodeRunChange, type CodeRunReads, codeRunRefusals, toCodeRun } from './row.ts'

export const codeRunsOnSqlite: Resource<CodeRunChange, CodeRunReads>['sqlite'] = {
  changes(db) {
    const clashing = db.prepare(`
      SELECT * FROM code_runs
      WHERE org_key = ? AND session_id = ? AND (source_event_id = ? OR state <> 'done')`)
    const add = db.prepare(`
      INSERT INTO code_runs (org_key, run_id, session_id, source_event_id, agent, state, attempts, input_tokens,
        output_tokens, started_at)
      VALUES (?, ?, ?, ?, ?, 'running', 0, 0, 0, ?)`)
    const move = db.prepare(`
      UPDATE code_runs
      SET state = coalesce(:state, state), acp_session_id = coalesce(:acp_session_id, acp_session_id),
        attempts = coalesce(:attempts, attempts), input_tokens = coalesce(:input_tokens, input_tokens),
        output_tokens = coalesce(:output_tokens, output_tokens), ended_at = coalesce(:ended_at, ended_at)
      WHERE org_key = :org_key AND run_id = :run_id AND session_id = :session_id AND state <> 'done'
      RETURNING run_id`)
    return {
      'code.begin'({ run }, { row, at }) {
        const { run_id, session_id, source_event_id, agent } = run
        const other = clashing.get(row.org_key, session_id, source_event_id)
        if (other !== undefined) throw codeRunRefusals.exists(row, other as Pick<CodeRun, 'run_id' | 'state'>)
        add.run(row.org_key, run_id, session_id, source_event_id, agent, at)
      },
      'code.move'({ run_id, state, acp_session_id, attempts, input_tokens, output_tokens }, { row, at }) {
        const moved = move.get({
          org_key: row.org_key,
          run_id,
          session_id: row.id,
          state: state ?? null,
          acp_session_id: acp_session_id ?? null,
          attempts: attempts ?? null,
          input_tokens: input_tokens ?? null,
          output_tokens: output_tokens ?? null,
          ended_at: state === 'done' ? at : null,
        })
        if (moved === undefined) throw codeRunRefusals.ended(row, run_id)
      },
    }
  },

  reads(db) {
    const runs = db.prepare(`
      SELECT * FROM code_runs WHERE org_key = ${orgOf('session', '?1')} AND session_id = ?1
      ORDER BY started_at DESC, run_id LIMIT ?2`)
    return { list: (sessionId, limit) => (runs.all(sessionId, limit) as Keyed<CodeRun>[]).map(toCodeRun) }
  },
}

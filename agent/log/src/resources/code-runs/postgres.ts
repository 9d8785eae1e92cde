/** Coding runs on Postgres; changes run under the lock of their session. */
import { orgOf } from '../../engine/directory.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { type CodeRun, type CodeRunChange, type CodeRunReads, codeRunRefusals, toCodeRun } from './row.ts'

const CLASHING: Statement = {
  name: 'code_run_clashing',
  text: `
    SELECT * FROM code_runs
    WHERE org_key = $1 AND session_id = $2 AND (source_event_id = $3 OR state <> 'done')`,
}
const ADD: Statement = {
  name: 'add_code_run',
  text: `
    INSERT INTO code_runs (org_key, run_id, session_id, source_event_id, agent, state, attempts, input_tokens,
      output_tokens, started_at)
    VALUES ($1, $2, $3, $4, $5, 'running', 0, 0, 0, $6)`,
}
const MOVE: Statement = {
  name: 'move_code_run',
  text: `
    UPDATE code_runs
    SET state = coalesce($3, state), acp_session_id = coalesce($4, acp_session_id),
      attempts = coalesce($5, attempts), input_tokens = coalesce($6, input_tokens),
      output_tokens = coalesce($7, output_tokens), ended_at = coalesce($8, ended_at)
    WHERE org_key = $9 AND run_id = $1 AND session_id = $2 AND state <> 'done'
    RETURNING run_id`,
}
const RUNS: Statement = {
  name: 'code_runs',
  text: `
    SELECT * FROM code_runs WHERE org_key = ${orgOf('session', '$1')} AND session_id = $1
    ORDER BY started_at DESC, run_id LIMIT $2`,
}

export const codeRunsOnPostgres: Resource<CodeRunChange, CodeRunReads>['postgres'] = {
  changes: {
    async 'code.begin'(ask, { run }, { row, at }) {
      const { run_id, session_id, source_event_id, agent } = run
      const [other] = await ask(CLASHING, [row.org_key, session_id, source_event_id])
      if (other !== undefined) throw codeRunRefusals.exists(row, other as Pick<CodeRun, 'run_id' | 'state'>)
      await ask(ADD, [row.org_key, run_id, session_id, source_event_id, agent, at])
    },
    async 'code.move'(ask, change, { row, at }) {
      const { run_id, state, acp_session_id, attempts, input_tokens, output_tokens } = change
      const moved = await ask(MOVE, [
        run_id,
        row.id,
        state ?? null,
        acp_session_id ?? null,
        attempts ?? null,
        input_tokens ?? null,
        output_tokens ?? null,
        state === 'done' ? at : null,
        row.org_key,
      ])
      if (moved.length === 0) throw codeRunRefusals.ended(row, run_id)
    },
  },

  store: ({ db }) => ({
    list: async (sessionId, limit) =>
      ((await db.query(RUNS, [sessionId, limit], { repeatable: true })) as Keyed<CodeRun>[]).map(toCodeRun),
  }),
}

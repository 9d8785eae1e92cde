/** Changes to coding runs within a commit on Postgres, under the lock of its session. */
import { codeRunRefusals } from '../change-code-run.ts'
import {
  ADD_CODE_RUN,
  addedRun,
  CLASHING_RUN,
  CODE_RUNS,
  type CodeRun,
  type CodeRunChange,
  type CodeRunReads,
  MOVE_CODE_RUN,
  movedRun,
} from '../code-runs.ts'
import type { StoredSession } from '../session-rows.ts'
import type { Database, Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

/** Replaces `?` by `$1`, `$2`, … */
function statement(name: string, text: string): Statement {
  let count = 0
  return { name, text: text.replaceAll('?', () => `$${String((count += 1))}`) }
}

const CLASHING = statement('code_run_clashing', CLASHING_RUN)
const ADD = statement('add_code_run', ADD_CODE_RUN)
const MOVE = statement('move_code_run', MOVE_CODE_RUN)
const RUNS = statement('code_runs', CODE_RUNS)

export async function changeCodeRun(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: CodeRunChange,
): Promise<void> {
  if (change.do === 'code.begin') {
    const { session_id, source_event_id } = change.run
    const [clashing] = await ask(CLASHING, [session_id, source_event_id])
    if (clashing !== undefined)
      throw codeRunRefusals.exists(row, clashing as { run_id: string; state: string })
    await ask(ADD, addedRun(change.run, at))
    return
  }
  if ((await ask(MOVE, movedRun(row.id, change, at))).length === 0)
    throw codeRunRefusals.ended(row, change.run_id)
}

export const createCodeRunReads = (db: Database): CodeRunReads => ({
  codeRuns: async (sessionId, limit) =>
    (await db.query(RUNS, [sessionId, limit], { repeatable: true })) as CodeRun[],
})

/** Changes to coding runs within a commit, inside the writer's transaction. */
import {
  ADD_CODE_RUN,
  addedRun,
  CLASHING_RUN,
  type CodeRunChange,
  MOVE_CODE_RUN,
  movedRun,
} from './code-runs.ts'
import { Refusing } from './commit-rules.ts'
import type { StoredSession } from './session-rows.ts'
import type { Db } from './sqlite-adapter.ts'

/** Refusals of changes to coding runs, worded alike for all stores. */
export const codeRunRefusals = {
  exists: (row: StoredSession, { run_id, state }: { run_id: string; state: string }) =>
    new Refusing('code_run_exists', `[commit] session ${row.id} has the run ${run_id}: ${state}`, row),
  ended: (row: StoredSession, run_id: string) =>
    new Refusing('code_run_ended', `[commit] run ${run_id} does not exist, or has ended`, row),
}

export const prepareCodeRunSql = (db: Db) => ({
  clashing: db.prepare(CLASHING_RUN),
  add: db.prepare(ADD_CODE_RUN),
  move: db.prepare(MOVE_CODE_RUN),
})
export type CodeRunSql = ReturnType<typeof prepareCodeRunSql>

export function changeCodeRun(sql: CodeRunSql, row: StoredSession, at: number, change: CodeRunChange): void {
  if (change.do === 'code.begin') {
    const { session_id, source_event_id } = change.run
    const clashing = sql.clashing.get(session_id, source_event_id)
    if (clashing !== undefined)
      throw codeRunRefusals.exists(row, clashing as { run_id: string; state: string })
    sql.add.run(...addedRun(change.run, at))
    return
  }
  if (sql.move.get(...movedRun(row.id, change, at)) === undefined)
    throw codeRunRefusals.ended(row, change.run_id)
}

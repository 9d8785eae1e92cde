/** Reads of coding runs on the embedded store. */
import { CODE_RUNS, type CodeRun } from './code-runs.ts'
import type { Db } from './sqlite-adapter.ts'
import type { ReadsOf } from './sqlite-missions.ts'

export function createCodeRunReader(db: Db): ReadsOf<'codeRuns'> {
  const runs = db.prepare(CODE_RUNS)
  return { codeRuns: (sessionId, limit) => runs.all(sessionId, limit) as CodeRun[] }
}

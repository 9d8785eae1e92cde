/** Reads of research on the embedded store. */
import { type StoredBranch, type StoredSource, toBranch, toSource } from './research.ts'
import type { Db } from './sqlite-adapter.ts'
import type { ReadsOf } from './sqlite-missions.ts'

export function createResearchReader(db: Db): ReadsOf<'branches' | 'sources'> {
  const branches = db.prepare('SELECT * FROM research_branches WHERE run_id = ? ORDER BY created_at, key')
  const sources = db.prepare('SELECT * FROM research_sources WHERE run_id = ? ORDER BY number')
  return {
    branches: runId => (branches.all(runId) as StoredBranch[]).map(toBranch),
    sources: runId => (sources.all(runId) as StoredSource[]).map(toSource),
  }
}

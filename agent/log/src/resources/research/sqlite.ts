/** Research on the embedded store. */
import type { ChangeContext, Resource } from '../../engine/resource.ts'
import {
  type BranchMove,
  changedBranch,
  type ResearchChange,
  type ResearchReads,
  researchRefusals,
  type StoredBranch,
  type StoredSource,
  storedSource,
  toBranch,
  toSource,
} from './row.ts'

export const researchOnSqlite: Resource<ResearchChange, ResearchReads>['sqlite'] = {
  changes(db) {
    const branch = db.prepare(`SELECT * FROM research_branches WHERE run_id = ? AND key = ?`)
    const addBranch = db.prepare(`
      INSERT INTO research_branches (run_id, key, worker_id, question, state, created_at)
      VALUES (:run_id, :key, :worker_id, :question, '{}', :at)`)
    const changeBranch = db.prepare(`
      UPDATE research_branches SET state = :state, harvested_at = :harvested_at
      WHERE run_id = :run_id AND key = :key`)
    const lastSource = db.prepare(`SELECT count(*) AS last FROM research_sources WHERE run_id = ?`)
    const addSource = db.prepare(`
      INSERT INTO research_sources (run_id, number, source) VALUES (:run_id, :number, :source)`)
    function changeState(change: BranchMove, { row, at }: ChangeContext): void {
      const { run_id, key } = change
      const changed = changedBranch(branch.get(run_id, key) as StoredBranch | undefined, change, at)
      if (changed === null) throw researchRefusals.moved(row, run_id, key)
      changeBranch.run({ ...changed, run_id, key })
    }
    return {
      'branch.add'(change, { row, at }) {
        const { run_id, key } = change.branch
        if (branch.get(run_id, key) !== undefined) throw researchRefusals.exists(row, run_id, key)
        addBranch.run({ ...change.branch, at })
      },
      'branch.harvest': changeState,
      'branch.mark': changeState,
      'source.add'({ source }, { row }) {
        const { run_id, number } = source
        if (Number(lastSource.get(run_id)?.['last']) !== number - 1)
          throw researchRefusals.taken(row, run_id, number)
        addSource.run(storedSource(source))
      },
    }
  },

  reads(db) {
    const branches = db.prepare(`SELECT * FROM research_branches WHERE run_id = ? ORDER BY created_at, key`)
    const sources = db.prepare(`SELECT * FROM research_sources WHERE run_id = ? ORDER BY number`)
    return {
      branches: runId => (branches.all(runId) as StoredBranch[]).map(toBranch),
      sources: runId => (sources.all(runId) as StoredSource[]).map(toSource),
    }
  },
}

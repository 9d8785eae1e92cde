/** Research on the embedded store. */
import { orgOf } from '../../engine/directory.ts'
import type { ChangeContext, Resource } from '../../engine/resource.ts'
import {
  type BranchMove,
  moveBranch,
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
    const branch = db.prepare(`SELECT * FROM research_branches WHERE org_key = ? AND run_id = ? AND key = ?`)
    const addBranch = db.prepare(`
      INSERT INTO research_branches (org_key, run_id, key, worker_id, question, state, created_at)
      VALUES (:org_key, :run_id, :key, :worker_id, :question, '{}', :at)`)
    const changeBranch = db.prepare(`
      UPDATE research_branches SET state = :state, harvested_at = :harvested_at
      WHERE org_key = :org_key AND run_id = :run_id AND key = :key`)
    const lastSource = db.prepare(
      `SELECT count(*) AS last FROM research_sources WHERE org_key = ? AND run_id = ?`,
    )
    const addSource = db.prepare(`
      INSERT INTO research_sources (org_key, run_id, number, source)
      VALUES (:org_key, :run_id, :number, :source)`)
    function changeState(change: BranchMove, context: ChangeContext): void {
      const { run_id, key } = change
      const { org_key } = context.row
      const found = branch.get(org_key, run_id, key) as StoredBranch | undefined
      changeBranch.run({ ...moveBranch(found, change, context), org_key, run_id, key })
    }
    return {
      'branch.add'(change, { row, at }) {
        const { run_id, key } = change.branch
        if (branch.get(row.org_key, run_id, key) !== undefined)
          throw researchRefusals.exists(row, run_id, key)
        addBranch.run({ ...change.branch, org_key: row.org_key, at })
      },
      'branch.harvest': changeState,
      'branch.mark': changeState,
      'source.add'({ source }, { row }) {
        const { run_id, number } = source
        if (Number(lastSource.get(row.org_key, run_id)?.['last']) !== number - 1)
          throw researchRefusals.taken(row, run_id, number)
        addSource.run({ ...storedSource(source), org_key: row.org_key })
      },
    }
  },

  reads(db) {
    const branches = db.prepare(`
      SELECT * FROM research_branches WHERE org_key = ${orgOf('mission', '?1')} AND run_id = ?1 ORDER BY created_at, key`)
    const sources = db.prepare(`
      SELECT * FROM research_sources WHERE org_key = ${orgOf('mission', '?1')} AND run_id = ?1 ORDER BY number`)
    return {
      branches: runId => (branches.all(runId) as StoredBranch[]).map(toBranch),
      sources: runId => (sources.all(runId) as StoredSource[]).map(toSource),
    }
  },
}

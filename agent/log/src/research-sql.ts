/** The statements of research, prepared once for the writer's connection. */
import type { Db } from './sqlite-adapter.ts'

export function prepareResearchSql(db: Db) {
  return {
    branch: db.prepare('SELECT * FROM research_branches WHERE run_id = ? AND key = ?'),
    addBranch: db.prepare(
      'INSERT INTO research_branches (run_id, key, worker_id, question, state, created_at) VALUES ' +
        "(:run_id, :key, :worker_id, :question, '{}', :at)",
    ),
    changeBranch: db.prepare(
      'UPDATE research_branches SET state = :state, harvested_at = :harvested_at WHERE run_id = :run_id ' +
        'AND key = :key',
    ),
    lastSource: db.prepare('SELECT count(*) AS last FROM research_sources WHERE run_id = ?'),
    addSource: db.prepare(
      'INSERT INTO research_sources (run_id, number, source) VALUES (:run_id, :number, :source)',
    ),
  }
}
export type ResearchSql = ReturnType<typeof prepareResearchSql>

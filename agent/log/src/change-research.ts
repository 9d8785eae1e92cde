/** Changes to research within a commit, inside the writer's transaction. */
import { Refusing } from './commit-rules.ts'
import type { ResearchSql } from './research-sql.ts'
import { changedBranch, type ResearchChange, storedSource, type StoredBranch } from './research.ts'
import type { StoredSession } from './session-rows.ts'

/** Refusals of changes to research, worded alike for all stores. */
export const researchRefusals = {
  exists: (row: StoredSession, run: string, key: string) =>
    new Refusing('exists', `[commit] run ${run} has a branch ${key} already`, row),
  moved: (row: StoredSession, run: string, key: string) =>
    new Refusing(
      'research_moved',
      `[commit] branch ${key} of run ${run} does not exist, or was already harvested`,
      row,
    ),
  taken: (row: StoredSession, run: string, number: number) =>
    new Refusing('research_moved', `[commit] ${number} is not the next source of run ${run}`, row),
}

export function changeResearch(
  sql: ResearchSql,
  row: StoredSession,
  at: number,
  change: ResearchChange,
): void {
  switch (change.do) {
    case 'branch.add': {
      const { run_id, key } = change.branch
      if (sql.branch.get(run_id, key) !== undefined) throw researchRefusals.exists(row, run_id, key)
      sql.addBranch.run({ ...change.branch, at })
      return
    }
    case 'branch.harvest':
    case 'branch.mark': {
      const { run_id, key } = change
      const changed = changedBranch(sql.branch.get(run_id, key) as StoredBranch | undefined, change, at)
      if (changed === null) throw researchRefusals.moved(row, run_id, key)
      sql.changeBranch.run({ ...changed, run_id, key })
      return
    }
    case 'source.add': {
      const { run_id, number } = change.source
      if (Number(sql.lastSource.get(run_id)?.['last']) !== number - 1)
        throw researchRefusals.taken(row, run_id, number)
      sql.addSource.run(storedSource(change.source))
    }
  }
}

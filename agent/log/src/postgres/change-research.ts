/** Changes to research within a commit on Postgres. */
import { researchRefusals } from '../change-research.ts'
import { changedBranch, type ResearchChange, storedSource, type StoredBranch } from '../research.ts'
import type { StoredSession } from '../session-rows.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

/** Branches change under the lock of their coordinator. */
const BRANCH = statement('branch_to_change', 'SELECT * FROM research_branches WHERE run_id = $1 AND key = $2')
const ADD_BRANCH = statement(
  'add_branch',
  'INSERT INTO research_branches (run_id, key, worker_id, question, state, created_at) ' +
    "VALUES ($1, $2, $3, $4, '{}', $5) ON CONFLICT (run_id, key) DO NOTHING RETURNING key",
)
const CHANGE_BRANCH = statement(
  'change_branch',
  'UPDATE research_branches SET state = $3, harvested_at = $4 WHERE run_id = $1 AND key = $2',
)
/** If two branches take one number at the same time, the second waits for the first and is rejected. */
const ADD_SOURCE = statement(
  'add_source',
  'INSERT INTO research_sources (run_id, number, source) SELECT $1, $2::bigint, $3 WHERE $2::bigint = ' +
    '1 + (SELECT count(*) FROM research_sources WHERE run_id = $1) ON CONFLICT (run_id, number) DO NOTHING ' +
    'RETURNING number',
)

export async function changeResearch(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: ResearchChange,
): Promise<void> {
  switch (change.do) {
    case 'branch.add': {
      const { run_id, key, worker_id, question } = change.branch
      if ((await ask(ADD_BRANCH, [run_id, key, worker_id, question, at])).length === 0)
        throw researchRefusals.exists(row, run_id, key)
      return
    }
    case 'branch.harvest':
    case 'branch.mark': {
      const { run_id, key } = change
      const found = (await ask(BRANCH, [run_id, key]))[0] as StoredBranch | undefined
      const changed = changedBranch(found, change, at)
      if (changed === null) throw researchRefusals.moved(row, run_id, key)
      await ask(CHANGE_BRANCH, [run_id, key, changed.state, changed.harvested_at])
      return
    }
    case 'source.add': {
      const { run_id, number, source } = storedSource(change.source)
      if ((await ask(ADD_SOURCE, [run_id, number, source])).length === 0)
        throw researchRefusals.taken(row, run_id, number)
    }
  }
}

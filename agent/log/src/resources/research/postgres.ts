/** Research on Postgres; branches change under the lock of their coordinator. */
import type { Ask, ChangeContext, Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
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

const BRANCH: Statement = {
  name: 'branch_to_change',
  text: `SELECT * FROM research_branches WHERE run_id = $1 AND key = $2`,
}
const ADD_BRANCH: Statement = {
  name: 'add_branch',
  text: `
    INSERT INTO research_branches (run_id, key, worker_id, question, state, created_at)
    VALUES ($1, $2, $3, $4, '{}', $5)
    ON CONFLICT (run_id, key) DO NOTHING
    RETURNING key`,
}
const CHANGE_BRANCH: Statement = {
  name: 'change_branch',
  text: `UPDATE research_branches SET state = $3, harvested_at = $4 WHERE run_id = $1 AND key = $2`,
}
/** If two branches take one number at the same time, the second waits for the first and is rejected. */
const ADD_SOURCE: Statement = {
  name: 'add_source',
  text: `
    INSERT INTO research_sources (run_id, number, source)
    SELECT $1, $2::bigint, $3
    WHERE $2::bigint = 1 + (SELECT count(*) FROM research_sources WHERE run_id = $1)
    ON CONFLICT (run_id, number) DO NOTHING
    RETURNING number`,
}
const BRANCHES: Statement = {
  name: 'branches_of_run',
  text: `SELECT * FROM research_branches WHERE run_id = $1 ORDER BY created_at, key`,
}
const SOURCES: Statement = {
  name: 'sources_of_run',
  text: `SELECT * FROM research_sources WHERE run_id = $1 ORDER BY number`,
}

async function changeState(ask: Ask, change: BranchMove, { row, at }: ChangeContext): Promise<void> {
  const { run_id, key } = change
  const found = (await ask(BRANCH, [run_id, key]))[0] as StoredBranch | undefined
  const changed = changedBranch(found, change, at)
  if (changed === null) throw researchRefusals.moved(row, run_id, key)
  await ask(CHANGE_BRANCH, [run_id, key, changed.state, changed.harvested_at])
}

export const researchOnPostgres: Resource<ResearchChange, ResearchReads>['postgres'] = {
  changes: {
    async 'branch.add'(ask, { branch }, { row, at }) {
      const { run_id, key, worker_id, question } = branch
      if ((await ask(ADD_BRANCH, [run_id, key, worker_id, question, at])).length === 0)
        throw researchRefusals.exists(row, run_id, key)
    },
    'branch.harvest': changeState,
    'branch.mark': changeState,
    async 'source.add'(ask, change, { row }) {
      const { run_id, number, source } = storedSource(change.source)
      if ((await ask(ADD_SOURCE, [run_id, number, source])).length === 0)
        throw researchRefusals.taken(row, run_id, number)
    },
  },

  store: ({ db }) => ({
    branches: async runId =>
      (await db.query(BRANCHES, [runId], { repeatable: true })).map(row => toBranch(row as StoredBranch)),
    sources: async runId =>
      (await db.query(SOURCES, [runId], { repeatable: true })).map(row => toSource(row as StoredSource)),
  }),
}

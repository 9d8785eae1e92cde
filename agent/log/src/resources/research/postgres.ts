/** Research on Postgres; branches change under the lock of their coordinator. */
import { orgOf } from '../../engine/directory.ts'
import type { Ask, ChangeContext, Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
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

const BRANCH: Statement = {
  name: 'branch_to_change',
  text: `SELECT * FROM research_branches WHERE org_key = $1 AND run_id = $2 AND key = $3`,
}
const ADD_BRANCH: Statement = {
  name: 'add_branch',
  text: `
    INSERT INTO research_branches (org_key, run_id, key, worker_id, question, state, created_at)
    VALUES ($1, $2, $3, $4, $5, '{}', $6)
    ON CONFLICT (org_key, run_id, key) DO NOTHING
    RETURNING key`,
}
const CHANGE_BRANCH: Statement = {
  name: 'change_branch',
  text: `
    UPDATE research_branches SET state = $4, harvested_at = $5
    WHERE org_key = $1 AND run_id = $2 AND key = $3`,
}
/** If two branches take one number at the same time, the second waits for the first and is rejected. */
const ADD_SOURCE: Statement = {
  name: 'add_source',
  text: `
    INSERT INTO research_sources (org_key, run_id, number, source)
    SELECT $1, $2, $3::bigint, $4
    WHERE $3::bigint = 1 + (SELECT count(*) FROM research_sources WHERE org_key = $1 AND run_id = $2)
    ON CONFLICT (org_key, run_id, number) DO NOTHING
    RETURNING number`,
}
const BRANCHES: Statement = {
  name: 'branches_of_run',
  text: `
    SELECT * FROM research_branches WHERE org_key = ${orgOf('mission', '$1')} AND run_id = $1
    ORDER BY created_at, key`,
}
const SOURCES: Statement = {
  name: 'sources_of_run',
  text: `
    SELECT * FROM research_sources WHERE org_key = ${orgOf('mission', '$1')} AND run_id = $1
    ORDER BY number`,
}

async function changeState(ask: Ask, change: BranchMove, context: ChangeContext): Promise<void> {
  const { run_id, key } = change
  const { org_key } = context.row
  const found = (await ask(BRANCH, [org_key, run_id, key]))[0] as StoredBranch | undefined
  const { state, harvested_at } = moveBranch(found, change, context)
  await ask(CHANGE_BRANCH, [org_key, run_id, key, state, harvested_at])
}

export const researchOnPostgres: Resource<ResearchChange, ResearchReads>['postgres'] = {
  changes: {
    async 'branch.add'(ask, { branch }, { row, at }) {
      const { run_id, key, worker_id, question } = branch
      if ((await ask(ADD_BRANCH, [row.org_key, run_id, key, worker_id, question, at])).length === 0)
        throw researchRefusals.exists(row, run_id, key)
    },
    'branch.harvest': changeState,
    'branch.mark': changeState,
    async 'source.add'(ask, change, { row }) {
      const { run_id, number, source } = storedSource(change.source)
      if ((await ask(ADD_SOURCE, [row.org_key, run_id, number, source])).length === 0)
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

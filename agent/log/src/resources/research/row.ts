/**
 * Branches and sources of research, for the pages that show a run and for two guards: a branch is harvested
 * once, and every source has its own number although branches find sources concurrently. What the model reads
 * is in the coordinator's log.
 */
import type { ResearchLevel } from '@cairn/protocol'
import { Refusing } from '../../engine/refusing.ts'
import { redactJson } from '../../engine/redact-json.ts'
import type { ChangeContext, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

export type NewBranch = {
  run_id: string
  /** Dotted path below its parent branch: `1`, `1.2`. */
  key: string
  /** The child that works on it. */
  worker_id: string
  question: string
}
/** Its result; keys are absent until they have a value. */
export type BranchState = {
  status?: 'complete' | 'failed'
  /** Null: could not be determined. Absent: it failed. */
  score?: number | null
  why?: string
  findings?: string
  /** Absent: could not be determined. */
  improves?: boolean
  /** The stagnation level that it reached. */
  level?: ResearchLevel
  /** RFC 3339. */
  adopted_at?: string
}
export type ResearchBranch = NewBranch & {
  state: BranchState
  /** Epoch milliseconds. */
  created_at: number
  harvested_at: number | null
}
export type NewSource = {
  run_id: string
  /** From 1, without gaps. */
  number: number
  /** The child that fetched it, and the call. */
  worker_id: string
  fetch_call_id: string
  branch_key: string
  url: string
  title: string
  quote: string
  claim: string
  /** RFC 3339. */
  fetched_at: string
}
export type ResearchSource = NewSource

export type ResearchChange =
  /** Rejected with `exists` if the run has a branch with that key. */
  | { do: 'branch.add'; branch: NewBranch }
  /** Guard and change: rejected with `research_moved` if it was harvested before, or does not exist. */
  | { do: 'branch.harvest'; run_id: string; key: string; state: BranchState }
  /** Merged into the stored state; rejected with `research_moved` if it does not exist. */
  | { do: 'branch.mark'; run_id: string; key: string; state: BranchState }
  /** Guard and change: rejected with `research_moved` unless its number is the next of the run. */
  | { do: 'source.add'; source: NewSource }

export interface ResearchReads {
  /** In order of creation. */
  branches(runId: string): Promise<ResearchBranch[]>
  /** Ordered by number. */
  sources(runId: string): Promise<ResearchSource[]>
}

/** A branch as it is stored. */
export type StoredBranch = Omit<ResearchBranch, 'state'> & { state: string }
export const toBranch = ({
  run_id,
  key,
  worker_id,
  question,
  state,
  created_at,
  harvested_at,
}: StoredBranch) => ({
  run_id,
  key,
  worker_id,
  question,
  state: JSON.parse(state) as BranchState,
  created_at,
  harvested_at,
})
export type BranchMove = Extract<ResearchChange, { do: 'branch.harvest' | 'branch.mark' }>
/** The branch after a change. Rejected if the branch does not exist, or was harvested before a harvest. */
export function moveBranch(
  branch: StoredBranch | undefined,
  change: BranchMove,
  { row, at }: ChangeContext,
): Pick<StoredBranch, 'state' | 'harvested_at'> {
  if (branch === undefined || (change.do === 'branch.harvest' && branch.harvested_at !== null))
    throw researchRefusals.moved(row, change.run_id, change.key)
  return {
    state: JSON.stringify({ ...(JSON.parse(branch.state) as BranchState), ...change.state }),
    harvested_at: change.do === 'branch.harvest' ? at : branch.harvested_at,
  }
}

export type StoredSource = Pick<NewSource, 'run_id' | 'number'> & { source: string }
export const toSource = ({ run_id, number, source }: StoredSource): ResearchSource => ({
  ...(JSON.parse(source) as Omit<NewSource, 'run_id' | 'number'>),
  run_id,
  number,
})
export const storedSource = ({ run_id, number, ...rest }: NewSource): StoredSource => ({
  run_id,
  number,
  source: JSON.stringify(rest),
})

export const researchChanges: Resource<ResearchChange, ResearchReads>['changes'] = {
  'branch.add': { redact: (change, redact) => ({ ...change, branch: redactJson(redact, change.branch) }) },
  'branch.harvest': { redact: (change, redact) => ({ ...change, state: redactJson(redact, change.state) }) },
  'branch.mark': { redact: (change, redact) => ({ ...change, state: redactJson(redact, change.state) }) },
  'source.add': { redact: (change, redact) => ({ ...change, source: redactJson(redact, change.source) }) },
}

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

/**
 * Branches and sources of research: what a page shows of a run, and two guards. A branch is harvested once,
 * and a source has a number of its own although branches find sources side by side. What the model reads is
 * in the log of the coordinator.
 */
import type { ResearchLevel } from '@cairn/protocol'

export type NewBranch = {
  run_id: string
  /** Dotted below the branch that it hangs from: `1`, `1.2`. */
  key: string
  /** The child that works on it. */
  worker_id: string
  question: string
}
/** What came of it; each is absent until there is something to say. */
export type BranchState = {
  status?: 'complete' | 'failed'
  /** Null: nobody could say. Absent: it failed. */
  score?: number | null
  why?: string
  findings?: string
  /** Absent: nobody could say. */
  improves?: boolean
  /** That was reached with it. */
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
  /** Who fetched it, and the call. */
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
  /** Refused with `exists` when the run has a branch of that key. */
  | { do: 'branch.add'; branch: NewBranch }
  /** Guard and change: refused with `research_moved` when it was harvested before, or is not there. */
  | { do: 'branch.harvest'; run_id: string; key: string; state: BranchState }
  /** Adds to what is known of it; refused with `research_moved` when it is not there. */
  | { do: 'branch.mark'; run_id: string; key: string; state: BranchState }
  /** Guard and change: refused with `research_moved` unless its number is the next of the run. */
  | { do: 'source.add'; source: NewSource }

/** Reads of a run. */
export interface ResearchReads {
  /** In the order in which they were made. */
  branches(runId: string): Promise<ResearchBranch[]>
  /** By their numbers. */
  sources(runId: string): Promise<ResearchSource[]>
}

// ---- as the stores hold them
// -----------------------------------------------------------------------------------------

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
/** What a change makes of a branch; null: it is refused. */
export function changedBranch(
  row: StoredBranch | undefined,
  change: Extract<ResearchChange, { do: 'branch.harvest' | 'branch.mark' }>,
  at: number,
): Pick<StoredBranch, 'state' | 'harvested_at'> | null {
  if (row === undefined || (change.do === 'branch.harvest' && row.harvested_at !== null)) return null
  return {
    state: JSON.stringify({ ...(JSON.parse(row.state) as BranchState), ...change.state }),
    harvested_at: change.do === 'branch.harvest' ? at : row.harvested_at,
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

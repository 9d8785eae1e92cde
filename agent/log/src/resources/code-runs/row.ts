/**
 * Runs of coding agents. The row is the guard: one run per source event, one active run per session, and one
 * end, by the runner or by a stop, whichever comes first.
 */
import { ownColumns } from '../../engine/own-columns.ts'
import { Refusing } from '../../engine/refusing.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

export type CodeRunState = 'running' | 'parked' | 'done'

export type NewCodeRun = {
  run_id: string
  session_id: string
  /** The user.message of the command, or the tool.call. */
  source_event_id: number
  agent: string
}
export type CodeRun = NewCodeRun & {
  /** The agent's own session id, to resume in a new process; null if it has none yet. */
  acp_session_id: string | null
  /** `parked`: no process runs until a decision or a resume. */
  state: CodeRunState
  /** Processes so far that died with their runner. */
  attempts: number
  /** From the last progress report. */
  input_tokens: number
  output_tokens: number
  /** Epoch milliseconds. */
  started_at: number
  ended_at: number | null
}

export type CodeRunChange =
  /** Rejected with `code_run_exists` if the source has a run, or the session an active one. */
  | { do: 'code.begin'; run: NewCodeRun }
  /** Guard and change: rejected with `code_run_ended` if the run is done. Absent keys stay unchanged. */
  | ({ do: 'code.move'; run_id: string } & Partial<
      Pick<CodeRun, 'state' | 'acp_session_id' | 'attempts' | 'input_tokens' | 'output_tokens'>
    >)

export interface CodeRunReads {
  /** Newest first. */
  list(sessionId: string, limit: number): Promise<CodeRun[]>
}

const ownCodeRun = ownColumns<CodeRun>({
  run_id: true,
  session_id: true,
  source_event_id: true,
  agent: true,
  acp_session_id: true,
  state: true,
  attempts: true,
  input_tokens: true,
  output_tokens: true,
  started_at: true,
  ended_at: true,
})

export const toCodeRun = (row: Keyed<CodeRun>): CodeRun => ownCodeRun(row)

export const codeRunChanges: Resource<CodeRunChange, CodeRunReads>['changes'] = {
  'code.begin': {},
  'code.move': {},
}

/** Refusals of changes to coding runs, worded alike for all stores. */
export const codeRunRefusals = {
  exists: (row: StoredSession, { run_id, state }: { run_id: string; state: string }) =>
    new Refusing('code_run_exists', `[commit] session ${row.id} has the run ${run_id}: ${state}`, row),
  ended: (row: StoredSession, run_id: string) =>
    new Refusing('code_run_ended', `[commit] run ${run_id} does not exist, or has ended`, row),
}

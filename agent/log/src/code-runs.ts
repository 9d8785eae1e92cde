/**
 * Runs of coding agents. The row is the guard: one run per source event, one active run per session, and one
 * end, by the runner or by a stop, whichever comes first.
 */
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
  codeRuns(sessionId: string, limit: number): Promise<CodeRun[]>
}

/** One statement each; the stores differ in their parameter syntax. */
export const CODE_RUNS =
  'SELECT * FROM code_runs WHERE session_id = ? ORDER BY started_at DESC, run_id LIMIT ?'
export const CLASHING_RUN =
  "SELECT * FROM code_runs WHERE session_id = ? AND (source_event_id = ? OR state <> 'done')"
export const ADD_CODE_RUN =
  'INSERT INTO code_runs (run_id, session_id, source_event_id, agent, state, attempts, input_tokens, ' +
  "output_tokens, started_at) VALUES (?, ?, ?, ?, 'running', 0, 0, 0, ?)"
export const MOVE_CODE_RUN =
  'UPDATE code_runs SET state = coalesce(?, state), acp_session_id = coalesce(?, acp_session_id), ' +
  'attempts = coalesce(?, attempts), input_tokens = coalesce(?, input_tokens), ' +
  'output_tokens = coalesce(?, output_tokens), ended_at = coalesce(?, ended_at) ' +
  "WHERE run_id = ? AND session_id = ? AND state <> 'done' RETURNING run_id"

export const addedRun = ({ run_id, session_id, source_event_id, agent }: NewCodeRun, at: number) =>
  [run_id, session_id, source_event_id, agent, at] as const
export const movedRun = (
  session_id: string,
  { run_id, state, acp_session_id, attempts, input_tokens, output_tokens }: CodeMove,
  at: number,
) =>
  [
    state ?? null,
    acp_session_id ?? null,
    attempts ?? null,
    input_tokens ?? null,
    output_tokens ?? null,
    state === 'done' ? at : null,
    run_id,
    session_id,
  ] as const
type CodeMove = Extract<CodeRunChange, { do: 'code.move' }>

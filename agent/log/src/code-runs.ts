/**
 * Runs of coding agents. The row is what a run is known by: one a source event, one at work a session, and
 * one end, whoever comes first, its worker or a stop.
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
  /** The agent's own name of its session, to go on with it in a new process; null: it has none yet. */
  acp_session_id: string | null
  /** `parked`: no process runs; a decision or a resume is to come. */
  state: CodeRunState
  /** Processes that died with their worker so far. */
  attempts: number
  /** Up to the last progress. */
  input_tokens: number
  output_tokens: number
  /** Epoch milliseconds. */
  started_at: number
  ended_at: number | null
}

export type CodeRunChange =
  /** Refused with `code_run_exists` where the source has a run, or the session one that is not done. */
  | { do: 'code.begin'; run: NewCodeRun }
  /** Guard and change: refused with `code_run_ended` where the run is done. What is absent stays. */
  | ({ do: 'code.move'; run_id: string } & Partial<
      Pick<CodeRun, 'state' | 'acp_session_id' | 'attempts' | 'input_tokens' | 'output_tokens'>
    >)

export interface CodeRunReads {
  /** Newest first. */
  codeRuns(sessionId: string, limit: number): Promise<CodeRun[]>
}

/** One statement each; the stores differ in how they name a parameter. */
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

-- Runs of coding agents (code-runs.ts). Times are epoch milliseconds.
CREATE TABLE code_runs (
  run_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  source_event_id INTEGER NOT NULL,    -- the user.message of the command, or the tool.call
  agent TEXT NOT NULL,
  acp_session_id TEXT,                 -- the agent's own name of its session
  state TEXT NOT NULL,                 -- running, parked, done
  attempts INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  UNIQUE (session_id, source_event_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX code_runs_at_work ON code_runs (session_id) WHERE state <> 'done';

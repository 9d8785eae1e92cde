-- Runs of coding agents, as in migrations/0017_code_runs.sql.
CREATE TABLE code_runs (
  run_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  source_event_id BIGINT NOT NULL,    -- the user.message of the command, or the tool.call
  agent TEXT NOT NULL,
  acp_session_id TEXT,                 -- the agent's own name of its session
  state TEXT NOT NULL,                 -- running, parked, done
  attempts BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  UNIQUE (session_id, source_event_id)
);
CREATE UNIQUE INDEX code_runs_at_work ON code_runs (session_id) WHERE state <> 'done';

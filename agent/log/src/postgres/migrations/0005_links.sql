-- What ties a child session to its parent, as in migrations/0007_links.sql.
CREATE TABLE links (
  child_id TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  depth BIGINT NOT NULL,
  kind TEXT NOT NULL,
  tool_call_id TEXT,                   -- the call of the parent that made it
  status TEXT NOT NULL,                -- open, complete, failed
  cause TEXT,                          -- why it failed
  paused_by_parent BIGINT NOT NULL DEFAULT 0,
  input_tokens BIGINT NOT NULL DEFAULT 0, -- of the child and all below it, as its outcome says; 0 while open
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
  opened_at BIGINT NOT NULL,
  settled_at BIGINT
);
CREATE INDEX links_by_parent ON links (parent_id, opened_at);
CREATE INDEX links_by_root ON links (root_id, opened_at);

-- Grows by one with every spawn and every outcome: whoever decides over several sessions of a tree notices that it moved.
CREATE TABLE trees (
  root_id TEXT PRIMARY KEY,
  version BIGINT NOT NULL
);

CREATE TABLE timers (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  data TEXT NOT NULL,                  -- JSON
  claimed_by TEXT,
  claimed_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX timers_by_due ON timers (due_at);

-- What ties a child session to its parent (coordination.ts). Times are epoch milliseconds.
CREATE TABLE links (
  child_id TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  depth INTEGER NOT NULL,
  kind TEXT NOT NULL,
  tool_call_id TEXT,                   -- the call of the parent that made it
  status TEXT NOT NULL,                -- open, complete, failed
  cause TEXT,                          -- why it failed
  paused_by_parent INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, -- of the child and all below it, as its outcome says; 0 while open
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_parent ON links (parent_id, opened_at);
CREATE INDEX links_by_root ON links (root_id, opened_at);

-- Grows by one with every spawn and every outcome: whoever decides over several sessions of a tree notices that it moved.
CREATE TABLE trees (
  root_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE timers (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  data TEXT NOT NULL,                  -- JSON
  claimed_by TEXT,
  claimed_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX timers_by_due ON timers (due_at);

-- Branches and sources of research (research.ts). Times are epoch milliseconds.
CREATE TABLE research_branches (
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,                   -- dotted below the branch that it hangs from
  worker_id TEXT NOT NULL,
  question TEXT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: what came of it
  created_at INTEGER NOT NULL,
  harvested_at INTEGER,                -- NULL until its coordinator was told, once
  PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE research_sources (
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  source TEXT NOT NULL,                -- JSON
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

-- Branches and sources of research, as in migrations/0020_research.sql.
CREATE TABLE research_branches (
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,                   -- dotted below the branch that it hangs from
  worker_id TEXT NOT NULL,
  question TEXT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: what came of it
  created_at BIGINT NOT NULL,
  harvested_at BIGINT,                -- NULL until its coordinator was told, once
  PRIMARY KEY (run_id, key)
);
CREATE TABLE research_sources (
  run_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  source TEXT NOT NULL,                -- JSON
  PRIMARY KEY (run_id, number)
);

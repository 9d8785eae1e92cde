-- Work with an order, whose attempts are child sessions (tasks.ts). Times are epoch milliseconds.
CREATE TABLE tasks (
  task_id TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL,              -- the session that made it
  root_id TEXT NOT NULL,
  goal TEXT NOT NULL,
  plan TEXT NOT NULL,                  -- JSON: what whoever begins an attempt reads
  after TEXT NOT NULL,                 -- JSON: ids of tasks of the same owner
  max_attempts INTEGER NOT NULL,
  status TEXT NOT NULL,                -- todo, running, blocked, done, failed, cancelled
  attempt_count INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- JSON: what came of it so far
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_owner ON tasks (owner_id, created_at);

ALTER TABLE links ADD COLUMN task_id TEXT;
ALTER TABLE links ADD COLUMN attempt INTEGER;

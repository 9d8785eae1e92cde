-- Runs at times (schedules.ts). Times are epoch milliseconds. When a schedule is due is a row of timers.
CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,            -- the session that its runs report to
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  status TEXT NOT NULL,                -- active, paused, completed, expired, cancelled
  version INTEGER NOT NULL,
  due_at INTEGER,
  spec TEXT NOT NULL,                  -- JSON: what it makes, and when
  state TEXT NOT NULL,                 -- JSON: the next slot, and what came of those before
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_by_session ON schedules (session_id, created_at);
CREATE INDEX schedules_by_owner ON schedules (org_id, created_by, created_at);
CREATE INDEX schedules_by_org ON schedules (org_id, created_at);

CREATE TABLE schedule_runs (
  schedule_id TEXT NOT NULL,
  slot_at INTEGER NOT NULL,            -- the first slot that it stands for
  last_slot_at INTEGER NOT NULL,
  status TEXT NOT NULL,                -- queued, running, success, failed, skipped
  reason TEXT,
  collapsed INTEGER NOT NULL,          -- slots beside the first
  manual INTEGER NOT NULL,
  run_session_id TEXT,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (schedule_id, slot_at)
) STRICT, WITHOUT ROWID;

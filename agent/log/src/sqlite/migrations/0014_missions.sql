-- Goals that a session and its children work on in rounds (missions.ts). Times are epoch milliseconds.
CREATE TABLE missions (
  key INTEGER PRIMARY KEY,
  mission_id TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,            -- its coordinator, a root
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_by_kind TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- mission, research
  definition TEXT NOT NULL,            -- JSON: what was asked for
  status TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- JSON: what came of it so far
  created_at INTEGER NOT NULL,
  ended_at INTEGER                     -- NULL while it is not over
) STRICT;
CREATE INDEX missions_of_org ON missions (org_id, key);
CREATE INDEX missions_of_creator ON missions (org_id, created_by, key);
CREATE UNIQUE INDEX missions_under_way ON missions (session_id) WHERE ended_at IS NULL;

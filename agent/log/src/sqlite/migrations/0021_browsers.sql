-- The browser of a session: which worker has it, who drives it (browsers.ts). Times are epoch milliseconds.
CREATE TABLE browser_instances (
  session_id TEXT PRIMARY KEY,
  browser_id TEXT,                     -- NULL: there is none at the moment
  worker_id TEXT,
  alive_until INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  holder_user_id TEXT,                 -- NULL: the agent
  held_since INTEGER,
  control_until INTEGER,
  sealed_state TEXT,                   -- cookies and local storage, encrypted
  state_until INTEGER
) STRICT;
CREATE INDEX browsers_alive ON browser_instances (alive_until) WHERE browser_id IS NOT NULL;

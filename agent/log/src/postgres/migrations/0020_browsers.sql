-- The browser of a session, as in migrations/0021_browsers.sql.
CREATE TABLE browser_instances (
  session_id TEXT PRIMARY KEY,
  browser_id TEXT,                     -- NULL: there is none at the moment
  worker_id TEXT,
  alive_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  holder_user_id TEXT,                 -- NULL: the agent
  held_since BIGINT,
  control_until BIGINT,
  sealed_state TEXT,                   -- cookies and local storage, encrypted
  state_until BIGINT
);
CREATE INDEX browsers_alive ON browser_instances (alive_until) WHERE browser_id IS NOT NULL;

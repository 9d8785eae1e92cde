-- One writer connection owns these tables; ids of events are taken from sessions.last_id inside the transaction.

CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,             -- creation order; internal
  id TEXT NOT NULL UNIQUE,
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_by_kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  status TEXT NOT NULL,
  title TEXT,
  model TEXT,
  parent_id TEXT,
  config TEXT NOT NULL,                -- JSON
  created_at INTEGER NOT NULL,         -- all times: epoch milliseconds
  updated_at INTEGER NOT NULL,
  last_id INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  tool_call_count INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  cursor INTEGER NOT NULL DEFAULT 0,
  wake_id INTEGER NOT NULL DEFAULT 0,
  wake_at INTEGER NOT NULL DEFAULT 0,  -- since when there has been work
  worker_id TEXT,                      -- null: no lease, or given back in order
  epoch INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  lease_at INTEGER NOT NULL DEFAULT 0, -- last sign of life of the holder
  recent TEXT NOT NULL DEFAULT '',     -- positions of the newest events, which event_positions does not have yet
  delta_low INTEGER NOT NULL DEFAULT 0,-- lowest llm.delta that may still be there; 0: none
  pruned INTEGER NOT NULL DEFAULT 0    -- llm.delta rows deleted so far
) STRICT;
CREATE INDEX sessions_by_org ON sessions (org_id, key);
CREATE INDEX sessions_by_creator ON sessions (created_by, key);
CREATE INDEX sessions_by_parent ON sessions (parent_id, key) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_with_work ON sessions (wake_at) WHERE status = 'active' AND wake_id > cursor;
CREATE INDEX sessions_with_deltas ON sessions (key) WHERE delta_low > 0;
CREATE INDEX sessions_leased ON sessions (key) WHERE worker_id IS NOT NULL;

-- In the order of commits: appends of all sessions go to the right edge.
CREATE TABLE events (
  pos INTEGER PRIMARY KEY,
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL                   -- the whole record on one line, as it is polled and streamed
) STRICT;

-- Where the events of a session are. Written some dozens at a time (sessions.recent holds the newest until then): one entry an event
-- would touch a page of its own for every session of a batch, and those pages were most of what a commit wrote.
CREATE TABLE event_positions (
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  PRIMARY KEY (session_key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox_items (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  session_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  source_event_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,                -- a pending item past expires_at counts as expired
  title TEXT NOT NULL,
  body TEXT,
  payload TEXT NOT NULL,               -- JSON
  private TEXT NOT NULL,               -- JSON; never shown
  tool_call_id TEXT,
  decision TEXT,
  read_at INTEGER,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  responded_at INTEGER
) STRICT;
CREATE INDEX inbox_by_org ON inbox_items (org_id, seq);
CREATE INDEX inbox_by_creator ON inbox_items (created_by, seq);
CREATE INDEX inbox_by_session ON inbox_items (session_id, seq);
CREATE INDEX inbox_pending ON inbox_items (session_key) WHERE status = 'pending';

CREATE TABLE grants (
  id TEXT PRIMARY KEY,
  session_key INTEGER NOT NULL,
  tool TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX grants_by_call ON grants (session_key, tool, arguments_hash);

CREATE TABLE artifacts (
  session_key INTEGER NOT NULL,
  artifact_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  spec TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (session_key, artifact_id)
) STRICT;

CREATE TABLE organisations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organisations (id),
  email TEXT NOT NULL UNIQUE COLLATE NOCASE,
  name TEXT NOT NULL,
  admin INTEGER NOT NULL,
  password_hash TEXT,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER
) STRICT;
CREATE INDEX users_by_org ON users (org_id);

CREATE TABLE service_accounts (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organisations (id),
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  token_sha256 TEXT NOT NULL UNIQUE,
  token_prefix TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER
) STRICT;
CREATE INDEX service_accounts_by_org ON service_accounts (org_id);

CREATE TABLE logins (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  refresh_sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX logins_by_user ON logins (user_id);

CREATE TABLE login_links (
  sha256 TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotent_answers (
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status INTEGER,                      -- null while the first request is still running
  body TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (principal_id, key)
) STRICT;
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created_at);

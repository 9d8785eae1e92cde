-- The tables of src/migrations as Postgres keeps them. Many processes write: whoever changes a session, or what belongs to one, holds
-- the lock on the session's row, and ids of events are taken from its last_id under that lock. All times: epoch milliseconds.

CREATE TABLE sessions (
  key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
  config TEXT NOT NULL,                   -- JSON, as text everywhere: it is stored and sent byte for byte
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_id BIGINT NOT NULL DEFAULT 0,
  message_count BIGINT NOT NULL DEFAULT 0,
  tool_call_count BIGINT NOT NULL DEFAULT 0,
  input_tokens BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
  cursor BIGINT NOT NULL DEFAULT 0,
  wake_id BIGINT NOT NULL DEFAULT 0,
  wake_at BIGINT NOT NULL DEFAULT 0,      -- since when there has been work
  worker_id TEXT,                         -- null: no lease, or given back in order
  epoch BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  lease_at BIGINT NOT NULL DEFAULT 0,     -- last sign of life of the holder
  delta_low BIGINT NOT NULL DEFAULT 0,    -- lowest llm.delta that may still be there; 0: none
  pruned BIGINT NOT NULL DEFAULT 0,       -- llm.delta rows deleted so far
  saga BIGINT NOT NULL DEFAULT 0          -- 0 none, 1 one runs, 2 one must be rolled back
) WITH (fillfactor = 70);                 -- every commit changes the row: room for that on its own page
CREATE INDEX sessions_by_org ON sessions (org_id, key);
CREATE INDEX sessions_by_creator ON sessions (created_by, key);
CREATE INDEX sessions_by_parent ON sessions (parent_id, key) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_with_work ON sessions (wake_at) WHERE status = 'active' AND wake_id > cursor;
CREATE INDEX sessions_with_deltas ON sessions (key) WHERE delta_low > 0;
CREATE INDEX sessions_to_roll_back ON sessions (key) WHERE saga = 2;

CREATE TABLE events (
  session_key BIGINT NOT NULL,
  id BIGINT NOT NULL,
  at BIGINT NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL,                     -- the whole record on one line, as it is polled and streamed
  PRIMARY KEY (session_key, id)
);

-- The number of the last batch that each process committed: what tells, after a lost connection, whether a COMMIT came through.
CREATE TABLE writers (
  id TEXT PRIMARY KEY,
  batch BIGINT NOT NULL,
  seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE inbox_items (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  session_key BIGINT NOT NULL,
  session_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  source_event_id BIGINT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,                   -- a pending item past expires_at counts as expired
  title TEXT NOT NULL,
  body TEXT,
  payload TEXT NOT NULL,                  -- JSON
  private TEXT NOT NULL,                  -- JSON; never shown
  tool_call_id TEXT,
  decision TEXT,
  read_at BIGINT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  responded_at BIGINT,
  changed_at BIGINT NOT NULL              -- by the server's clock: where the slow poll goes on
);
CREATE INDEX inbox_by_org ON inbox_items (org_id, seq);
CREATE INDEX inbox_by_creator ON inbox_items (created_by, seq);
CREATE INDEX inbox_by_session ON inbox_items (session_id, seq);
CREATE INDEX inbox_pending ON inbox_items (session_key) WHERE status = 'pending';
CREATE INDEX inbox_by_change ON inbox_items (changed_at);

CREATE TABLE grants (
  id TEXT PRIMARY KEY,
  session_key BIGINT NOT NULL,
  tool TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX grants_by_call ON grants (session_key, tool, arguments_hash);

CREATE TABLE artifacts (
  seq BIGINT GENERATED ALWAYS AS IDENTITY,
  session_key BIGINT NOT NULL,
  artifact_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  version BIGINT NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  spec TEXT NOT NULL,                     -- JSON
  PRIMARY KEY (session_key, artifact_id)
);

CREATE TABLE organisations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organisations (id),
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  admin BOOLEAN NOT NULL,
  password_hash TEXT,
  created_at BIGINT NOT NULL,
  disabled_at BIGINT
);
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
CREATE INDEX users_by_org ON users (org_id);

CREATE TABLE service_accounts (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL REFERENCES organisations (id),
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  token_sha256 TEXT NOT NULL UNIQUE,
  token_prefix TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT
);
CREATE INDEX service_accounts_by_org ON service_accounts (org_id);

CREATE TABLE logins (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  refresh_sha256 TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT
);
CREATE INDEX logins_by_user ON logins (user_id);

CREATE TABLE login_links (
  sha256 TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  expires_at BIGINT NOT NULL
);

CREATE TABLE idempotent_answers (
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status BIGINT,                          -- null while the first request is still running
  body TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (principal_id, key)
);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created_at);

-- What every process of this store must hold alike: the key that signs user tokens, and which data directory is theirs.
CREATE TABLE agreements (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

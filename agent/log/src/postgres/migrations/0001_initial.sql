-- Oldest program: 1
-- The tables of the store on Postgres. All times are epoch milliseconds. tables.ts explains the three classes.
-- Many processes write: a change of a session, or of what belongs to one, holds the lock on the session's row,
-- and ids of events are taken from its last_id under that lock.

-- The directory: finds the organisation of an id, a secret or an address. Ids are unique in one database here.
CREATE TABLE organisations (
  id TEXT PRIMARY KEY,
  org_key INTEGER NOT NULL UNIQUE,       -- the first column of every key of the organisation's tables
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE directory (
  kind TEXT NOT NULL,                  -- session, item, task, mission, schedule, connection
  id TEXT NOT NULL,
  org_key INTEGER NOT NULL,
  key BIGINT,                            -- of a session
  PRIMARY KEY (kind, id)
);
CREATE UNIQUE INDEX directory_of_sessions ON directory (org_key, key) WHERE kind = 'session';

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

-- Links that give anyone who has them read access to one session.
CREATE TABLE share_links (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  created_by TEXT NOT NULL,            -- a user; the link ends with them
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT
);
CREATE INDEX share_links_by_session ON share_links (session_id);

-- Of this server alone: these rows are never moved.
-- The number of the last batch that each process committed: tells, after a lost connection, whether a
-- COMMIT was performed.
CREATE TABLE writers (
  id TEXT PRIMARY KEY,
  batch BIGINT NOT NULL,
  seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Values that all processes of this store share: the key that signs user tokens, and its data directory.
CREATE TABLE agreements (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- Which process works for a connection, until when. Every store is served by its own processes.
CREATE TABLE channel_leases (
  connection_id TEXT NOT NULL,
  role TEXT NOT NULL,                  -- consume, deliver
  holder TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  held_until BIGINT NOT NULL,
  PRIMARY KEY (connection_id, role)
);

-- Of one organisation: org_key is the first column of every key.
CREATE TABLE sessions (
  org_key INTEGER NOT NULL,
  key BIGINT NOT NULL,                   -- grows with creation; internal
  id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_by_kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  status TEXT NOT NULL,
  title TEXT,
  model TEXT,
  parent_id TEXT,
  config TEXT NOT NULL,                -- JSON, as text everywhere: it is stored and sent byte for byte
  created_at BIGINT NOT NULL,            -- all times: epoch milliseconds
  updated_at BIGINT NOT NULL,
  last_id BIGINT NOT NULL DEFAULT 0,
  message_count BIGINT NOT NULL DEFAULT 0,
  tool_call_count BIGINT NOT NULL DEFAULT 0,
  input_tokens BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
  unpriced BIGINT NOT NULL DEFAULT 0,    -- 1 once a call had no known rate
  cursor BIGINT NOT NULL DEFAULT 0,
  wake_id BIGINT NOT NULL DEFAULT 0,
  wake_at BIGINT NOT NULL DEFAULT 0,     -- since when there has been work
  asked_id BIGINT NOT NULL DEFAULT 0,    -- the last event that suspends the turn for a person
  worker_id TEXT,                      -- NULL: no lease, or released
  epoch BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  lease_at BIGINT NOT NULL DEFAULT 0,    -- the last renewal
  delta_low BIGINT NOT NULL DEFAULT 0,   -- lowest llm.delta that may still be there; 0: none
  pruned BIGINT NOT NULL DEFAULT 0,      -- llm.delta rows deleted so far
  saga BIGINT NOT NULL DEFAULT 0,        -- 0 none, 1 one runs, 2 one must be rolled back
  provisional BIGINT NOT NULL DEFAULT 0, -- 1 while the title is provisional
  PRIMARY KEY (org_key, key)
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_creator ON sessions (org_key, created_by, key);
CREATE INDEX sessions_by_parent ON sessions (org_key, parent_id, key) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_leased ON sessions (org_key, key) WHERE worker_id IS NOT NULL;
CREATE INDEX sessions_queued ON sessions (org_key, created_by, (parent_id IS NOT NULL), wake_at)
  WHERE status = 'active' AND wake_id > cursor AND worker_id IS NULL;
CREATE INDEX sessions_to_roll_back ON sessions (org_key, key) WHERE saga = 2;
CREATE INDEX sessions_with_deltas ON sessions (org_key, key) WHERE delta_low > 0;

CREATE TABLE events (
  session_key BIGINT NOT NULL,
  id BIGINT NOT NULL,
  at BIGINT NOT NULL,
  org_key INTEGER NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL,                  -- the whole record on one line, as it is polled and streamed
  PRIMARY KEY (org_key, session_key, id)
);

-- What a fold has computed from a log up to last_id. Not part of the log: a row may go at any time.
CREATE TABLE snapshots (
  org_key INTEGER NOT NULL,
  session_key BIGINT NOT NULL,
  version TEXT NOT NULL,               -- of the code that folds
  last_id BIGINT NOT NULL,
  digest TEXT NOT NULL,                -- SHA-256 over the version, the record last_id and the body
  body TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (org_key, session_key)
);

CREATE TABLE inbox_items (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  seq BIGINT NOT NULL,                   -- grows with creation
  session_key BIGINT NOT NULL,
  session_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  source_event_id BIGINT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,                -- a pending item past expires_at counts as expired
  title TEXT NOT NULL,
  body TEXT,
  payload TEXT NOT NULL,               -- JSON
  private TEXT NOT NULL,               -- JSON; never shown
  tool_call_id TEXT,
  decision TEXT,
  decided_by TEXT,                     -- NULL: it was not recorded
  decided_by_kind TEXT,
  read_at BIGINT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  responded_at BIGINT,
  changed_at BIGINT NOT NULL,          -- by the server's clock: where the slow poll continues
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, seq)
);
CREATE INDEX inbox_by_creator ON inbox_items (org_key, created_by, seq);
CREATE INDEX inbox_by_session ON inbox_items (org_key, session_id, seq);
CREATE INDEX inbox_pending ON inbox_items (org_key, session_key) WHERE status = 'pending';
CREATE INDEX inbox_open ON inbox_items (org_key, created_at) WHERE status = 'pending';
CREATE INDEX inbox_by_change ON inbox_items (org_key, changed_at);

CREATE TABLE grants (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_key BIGINT NOT NULL,
  tool TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  granted_by_kind TEXT,                -- NULL: it was not recorded
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, id)
);
CREATE INDEX grants_by_call ON grants (org_key, session_key, tool, arguments_hash);

CREATE TABLE artifacts (
  org_key INTEGER NOT NULL,
  session_key BIGINT NOT NULL,
  artifact_id TEXT NOT NULL,
  number BIGINT NOT NULL,                -- from 1, in the order of the session
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  version BIGINT NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  spec TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (org_key, session_key, artifact_id)
);

-- What connects a child session to its parent.
CREATE TABLE links (
  org_key INTEGER NOT NULL,
  child_id TEXT NOT NULL,
  parent_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  depth BIGINT NOT NULL,
  kind TEXT NOT NULL,
  tool_call_id TEXT,                   -- the call of the parent that created it
  task_id TEXT,
  attempt BIGINT,
  status TEXT NOT NULL,                -- open, complete, failed
  cause TEXT,                          -- why it failed
  paused_by_parent BIGINT NOT NULL DEFAULT 0,
  reserved_tokens BIGINT NOT NULL DEFAULT 0,
  reserved_cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
  input_tokens BIGINT NOT NULL DEFAULT 0, -- of the child and its descendants, from its outcome; 0 while open
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
  opened_at BIGINT NOT NULL,
  settled_at BIGINT,
  PRIMARY KEY (org_key, child_id)
);
CREATE INDEX links_by_parent ON links (org_key, parent_id, opened_at);
CREATE INDEX links_by_root ON links (org_key, root_id, opened_at);

-- The version grows with every spawn and every outcome: a decision over several sessions notices a change.
CREATE TABLE trees (
  org_key INTEGER NOT NULL,
  root_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  board_seq BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, root_id)
);

CREATE TABLE board_notes (
  org_key INTEGER NOT NULL,
  root_id TEXT NOT NULL,
  seq BIGINT NOT NULL,                   -- from 1, in the order of commits
  writer_id TEXT NOT NULL,
  type TEXT NOT NULL,                  -- FACT, FAIL, CLAIM, RESULT
  content TEXT NOT NULL,
  ref TEXT,
  status TEXT NOT NULL,                -- active, superseded
  created_at BIGINT NOT NULL,
  expires_at BIGINT,                     -- of a CLAIM
  PRIMARY KEY (org_key, root_id, seq)
);

CREATE TABLE tasks (
  org_key INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,              -- the session that created it
  root_id TEXT NOT NULL,
  goal TEXT NOT NULL,
  plan TEXT NOT NULL,                  -- JSON: the input of an attempt
  after TEXT NOT NULL,                 -- JSON: ids of tasks of the same owner
  max_attempts BIGINT NOT NULL,
  status TEXT NOT NULL,                -- todo, running, blocked, done, failed, cancelled
  attempt_count BIGINT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the progress so far
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  PRIMARY KEY (org_key, task_id)
);
CREATE INDEX tasks_by_owner ON tasks (org_key, owner_id, created_at);

CREATE TABLE timers (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  data TEXT NOT NULL,                  -- JSON
  claimed_by TEXT,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, id)
);
CREATE INDEX timers_by_due ON timers (org_key, due_at);

CREATE TABLE missions (
  org_key INTEGER NOT NULL,
  mission_id TEXT NOT NULL,
  key BIGINT NOT NULL,                   -- grows with creation
  session_id TEXT NOT NULL,            -- its coordinator, a root
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_by_kind TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- mission, research
  definition TEXT NOT NULL,            -- JSON: the request
  status TEXT NOT NULL,
  iteration BIGINT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the progress so far
  created_at BIGINT NOT NULL,
  ended_at BIGINT,                       -- NULL while it is not over
  PRIMARY KEY (org_key, mission_id),
  UNIQUE (org_key, key)
);
CREATE INDEX missions_of_creator ON missions (org_key, created_by, key);
CREATE UNIQUE INDEX missions_under_way ON missions (org_key, session_id) WHERE ended_at IS NULL;

CREATE TABLE research_branches (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,                   -- dotted path below its parent branch
  worker_id TEXT NOT NULL,
  question TEXT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the result
  created_at BIGINT NOT NULL,
  harvested_at BIGINT,                   -- NULL until its coordinator has the result
  PRIMARY KEY (org_key, run_id, key)
);

CREATE TABLE research_sources (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  source TEXT NOT NULL,                -- JSON
  PRIMARY KEY (org_key, run_id, number)
);

CREATE TABLE schedules (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL,            -- the session that its runs report to
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  status TEXT NOT NULL,                -- active, paused, completed, expired, cancelled
  version BIGINT NOT NULL,
  due_at BIGINT,
  spec TEXT NOT NULL,                  -- JSON: what it starts, and when
  state TEXT NOT NULL,                 -- JSON: the next time, and the results of earlier ones
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, id)
);
CREATE INDEX schedules_by_session ON schedules (org_key, session_id, created_at);
CREATE INDEX schedules_by_owner ON schedules (org_key, created_by, created_at);
CREATE INDEX schedules_by_org ON schedules (org_key, created_at);

CREATE TABLE schedule_runs (
  org_key INTEGER NOT NULL,
  schedule_id TEXT NOT NULL,
  slot_at BIGINT NOT NULL,               -- the first scheduled time that it stands for
  last_slot_at BIGINT NOT NULL,
  status TEXT NOT NULL,                -- queued, running, success, failed, skipped
  reason TEXT,
  collapsed BIGINT NOT NULL,             -- further scheduled times
  manual BIGINT NOT NULL,
  run_session_id TEXT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (org_key, schedule_id, slot_at)
);

CREATE TABLE code_runs (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  source_event_id BIGINT NOT NULL,       -- the user.message of the command, or the tool.call
  agent TEXT NOT NULL,
  acp_session_id TEXT,                 -- the agent's own session id
  state TEXT NOT NULL,                 -- running, parked, done
  attempts BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (org_key, run_id),
  UNIQUE (org_key, session_id, source_event_id)
);
CREATE UNIQUE INDEX code_runs_at_work ON code_runs (org_key, session_id) WHERE state <> 'done';

CREATE TABLE browser_instances (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  browser_id TEXT,                     -- NULL: there is none at the moment
  worker_id TEXT,
  alive_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  holder_user_id TEXT,                 -- NULL: the agent
  held_since BIGINT,
  control_until BIGINT,
  sealed_state TEXT,                   -- cookies and local storage, encrypted
  state_until BIGINT,
  PRIMARY KEY (org_key, session_id)
);
CREATE INDEX browsers_alive ON browser_instances (org_key, alive_until) WHERE browser_id IS NOT NULL;

CREATE TABLE channel_connections (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  service_account_id TEXT NOT NULL,
  state TEXT NOT NULL,                 -- connecting, live, degraded, conflict, broken, disabled
  state_since BIGINT NOT NULL DEFAULT 0,
  last_error TEXT,
  last_error_at BIGINT,
  poll_cursor TEXT,
  inbound_seq BIGINT NOT NULL DEFAULT 0, -- the number of the last inbound row
  origin TEXT NOT NULL DEFAULT 'config', -- config, page
  settings TEXT,                       -- JSON; NULL: cairn.yaml has them
  sealed_secrets TEXT,
  revision BIGINT NOT NULL DEFAULT 0,    -- changes with the settings and with enabling
  refused_sha256 TEXT,                 -- of settings and secrets that the platform rejected
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, name)
);

CREATE TABLE channel_identities (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  workspace TEXT NOT NULL,             -- the namespace of the platform's user ids
  platform_user_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  linked_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, platform, workspace, platform_user_id)
);
CREATE INDEX channel_identities_by_user ON channel_identities (org_key, user_id);

CREATE TABLE channel_pairings (
  org_key INTEGER NOT NULL,
  code_sha256 TEXT NOT NULL,
  org_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_by TEXT,                        -- the inbound row that used it, or burned
  PRIMARY KEY (org_key, code_sha256),
  UNIQUE (org_key, user_id)            -- one open code a user
);

CREATE TABLE channel_senders (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  platform_user_id TEXT NOT NULL,
  name TEXT,
  verdict TEXT,                        -- allowed, blocked
  wrong_codes BIGINT NOT NULL DEFAULT 0,
  wrong_since BIGINT NOT NULL DEFAULT 0,
  told_at BIGINT,
  last_seen_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, connection_id, platform_user_id)
);

CREATE TABLE channel_conversations (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  generation BIGINT NOT NULL,            -- the newest one gets what comes in
  opened_by BIGINT NOT NULL,             -- the inbound row
  target TEXT NOT NULL,
  language TEXT,
  created_at BIGINT NOT NULL,
  routed BIGINT NOT NULL DEFAULT 0,      -- its session has a message
  delivered_through BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL DEFAULT 0,     -- nothing is sent before
  disclosed_at BIGINT,
  progress_message_id TEXT,            -- the answer takes its place
  PRIMARY KEY (org_key, session_id),
  UNIQUE (org_key, connection_id, key, generation)
);

CREATE TABLE channel_inbound (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  seq BIGINT NOT NULL,                   -- counted in the row of the connection
  event_key TEXT NOT NULL,
  conversation_key TEXT NOT NULL,
  sender TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,                 -- received, accepted, dropped
  reason TEXT,
  attempts BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL DEFAULT 0,
  session_id TEXT,
  event_id BIGINT,
  PRIMARY KEY (org_key, connection_id, seq),
  UNIQUE (org_key, connection_id, event_key)
);
CREATE INDEX channel_inbound_waiting ON channel_inbound (org_key, connection_id, conversation_key, seq)
  WHERE state = 'received';
CREATE INDEX channel_inbound_by_sender ON channel_inbound (org_key, connection_id, sender, received_at);

CREATE TABLE channel_deliveries (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,            -- or in:<connection>, of an automatic reply
  event_id BIGINT NOT NULL,              -- 0: the disclosure; of an automatic reply the inbound row
  part BIGINT NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,                 -- planned, sending, waiting, unknown, sent, held, dead, dropped
  attempts BIGINT NOT NULL DEFAULT 0,
  first_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT NOT NULL DEFAULT 0,
  platform_message_id TEXT,
  error TEXT,
  possible_duplicate BIGINT NOT NULL DEFAULT 0,
  body TEXT,                           -- of an automatic reply
  updated_at BIGINT NOT NULL,
  redo BIGINT NOT NULL DEFAULT 0,        -- 1: before the cursor, and to be sent again
  PRIMARY KEY (org_key, session_id, event_id, part)
);
CREATE INDEX channel_deliveries_by_state ON channel_deliveries (org_key, connection_id, state, updated_at);
CREATE INDEX channel_deliveries_redo ON channel_deliveries (org_key, connection_id) WHERE redo = 1;

CREATE TABLE channel_prompts (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- question, gate
  about TEXT NOT NULL,                 -- tool_call_id of a question, item of a gate
  choices TEXT NOT NULL,
  event_id BIGINT,                       -- that asked
  part BIGINT,                           -- that shows the buttons
  item_id TEXT,
  shown_hash TEXT,                     -- of the arguments that were shown
  closed_at BIGINT,
  PRIMARY KEY (org_key, id)
);
CREATE INDEX channel_prompts_by_session ON channel_prompts (org_key, session_id);
CREATE INDEX channel_prompts_by_item ON channel_prompts (org_key, item_id) WHERE item_id IS NOT NULL;

CREATE TABLE channel_visitors (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  token_sha256 TEXT NOT NULL,          -- of a token that only their browser has
  subject TEXT,                        -- the identity that the host page asserts
  name TEXT,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, connection_id, token_sha256)
);
CREATE INDEX channel_visitors_by_expiry ON channel_visitors (org_key, connection_id, expires_at);

CREATE TABLE notification_settings (
  org_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  scope TEXT NOT NULL,                 -- own, org
  kinds TEXT NOT NULL,                 -- JSON
  after_ms BIGINT NOT NULL,
  webhook_url TEXT,
  webhook_secret TEXT,                 -- encrypted
  webhook_since BIGINT,
  mail_address TEXT,
  mail_since BIGINT,                     -- NULL until the address is confirmed
  mail_code TEXT,                      -- encrypted
  mail_code_until BIGINT,
  mail_tries BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, user_id)
);

CREATE TABLE notifications (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  way TEXT NOT NULL,                   -- webhook, mail
  about TEXT NOT NULL,                 -- an inbox item, or what a person requests
  state TEXT NOT NULL,                 -- due, sending, sent, dead, withdrawn
  attempts BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  error TEXT,
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, user_id, way, about)
);
CREATE INDEX notifications_due ON notifications (org_key, next_at) WHERE state IN ('due', 'sending');
CREATE INDEX notifications_by_user ON notifications (org_key, user_id, created_at);

CREATE TABLE idempotent_answers (
  org_key INTEGER NOT NULL,
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status BIGINT,                         -- NULL while the first request is still running
  body TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, principal_id, key)
);
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (org_key, created_at);

-- The index for search and usage totals, derived from the logs outside of their commits.
CREATE TABLE search_progress (
  org_key INTEGER NOT NULL,
  session_key BIGINT NOT NULL,
  through BIGINT NOT NULL,             -- the last event that is indexed
  PRIMARY KEY (org_key, session_key)
);

-- Words of a range of events of one session. From 0: of the session itself too.
CREATE TABLE search_blocks (
  org_key INTEGER NOT NULL,
  session_key BIGINT NOT NULL,
  first_id BIGINT NOT NULL,
  last_id BIGINT NOT NULL,
  texts BIGINT NOT NULL,               -- how many; a block is extended while they are few
  words TSVECTOR NOT NULL,
  PRIMARY KEY (org_key, session_key, first_id)
);
-- An inverted index has no first column: its rows are filtered by organisation.
CREATE INDEX search_blocks_by_word ON search_blocks USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE TABLE search_usage (
  org_key INTEGER NOT NULL,
  day BIGINT NOT NULL,                 -- its start in UTC, epoch milliseconds
  created_by TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  calls BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost_usd DOUBLE PRECISION NOT NULL,
  unpriced_calls BIGINT NOT NULL,
  PRIMARY KEY (org_key, day, created_by, agent, model)
);

-- The sessions of an organisation with a block that contains these words. For a common word the planner
-- prefers to read the whole table: it does not count the cost of fetching each long list of words, and the
-- index, which needs none of them, is twenty times as fast.
CREATE FUNCTION search_sessions(org integer, wanted tsquery) RETURNS SETOF bigint LANGUAGE sql STABLE
SET search_path FROM CURRENT SET enable_seqscan = off
AS 'SELECT DISTINCT session_key FROM search_blocks WHERE words @@ wanted AND org_key = org';

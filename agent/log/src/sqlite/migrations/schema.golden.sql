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

CREATE TABLE board_notes (
  root_id TEXT NOT NULL,
  seq INTEGER NOT NULL,                -- from 1, in the order of commits
  writer_id TEXT NOT NULL,
  type TEXT NOT NULL,                  -- FACT, FAIL, CLAIM, RESULT
  content TEXT NOT NULL,
  ref TEXT,
  status TEXT NOT NULL,                -- active, superseded
  created_at INTEGER NOT NULL,
  expires_at INTEGER,                  -- of a CLAIM
  PRIMARY KEY (root_id, seq)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE channel_connections (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  service_account_id TEXT NOT NULL,
  state TEXT NOT NULL,                 -- connecting, live, degraded, conflict, broken, disabled
  last_error TEXT,
  last_error_at INTEGER,
  poll_cursor TEXT, state_since INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT 'config', settings TEXT, sealed_secrets TEXT, revision INTEGER NOT NULL DEFAULT 0, refused_sha256 TEXT,
  UNIQUE (org_id, name)
) STRICT;

CREATE TABLE channel_conversations (
  session_id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  generation INTEGER NOT NULL,         -- the newest takes what comes in
  opened_by INTEGER NOT NULL,          -- the inbound row
  target TEXT NOT NULL,
  language TEXT,
  created_at INTEGER NOT NULL,
  routed INTEGER NOT NULL DEFAULT 0,   -- its session has a message
  delivered_through INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,  -- nothing goes out before
  disclosed_at INTEGER, progress_message_id TEXT,
  UNIQUE (connection_id, key, generation)
) STRICT;

CREATE TABLE channel_deliveries (
  session_id TEXT NOT NULL,            -- or in:<connection>, of a notice that no session wrote
  event_id INTEGER NOT NULL,           -- 0: the disclosure; of a notice the inbound row
  part INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,                 -- planned, sending, waiting, unknown, sent, held, dead
  attempts INTEGER NOT NULL DEFAULT 0,
  first_at INTEGER NOT NULL,
  next_at INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  platform_message_id TEXT,
  error TEXT,
  possible_duplicate INTEGER NOT NULL DEFAULT 0,
  body TEXT,                           -- of a notice
  updated_at INTEGER NOT NULL, redo INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session_id, event_id, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_identities (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  workspace TEXT NOT NULL,             -- within which the platform's user ids are unique
  platform_user_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  linked_at INTEGER NOT NULL,
  UNIQUE (org_id, platform, workspace, platform_user_id)
) STRICT;

CREATE TABLE channel_inbound (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  connection_id TEXT NOT NULL,
  event_key TEXT NOT NULL,
  conversation_key TEXT NOT NULL,
  sender TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,                 -- received, accepted, dropped
  reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,
  session_id TEXT,
  event_id INTEGER,
  UNIQUE (connection_id, event_key)
) STRICT;

CREATE TABLE channel_leases (
  connection_id TEXT NOT NULL,
  role TEXT NOT NULL,                  -- consume, deliver
  holder TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  PRIMARY KEY (connection_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_pairings (
  code_sha256 TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  user_id TEXT NOT NULL UNIQUE,        -- one open code a user
  expires_at INTEGER NOT NULL,
  used_by TEXT                         -- the inbound row that used it, or burned
) STRICT;

CREATE TABLE channel_prompts (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- question, gate
  about TEXT NOT NULL,                 -- tool_call_id of a question, item of a gate
  choices TEXT NOT NULL,
  closed_at INTEGER
, event_id INTEGER, part INTEGER, item_id TEXT, shown_hash TEXT) STRICT;

CREATE TABLE channel_senders (
  connection_id TEXT NOT NULL,
  platform_user_id TEXT NOT NULL,
  name TEXT,
  verdict TEXT,                        -- allowed, blocked
  wrong_codes INTEGER NOT NULL DEFAULT 0,
  wrong_since INTEGER NOT NULL DEFAULT 0,
  told_at INTEGER,
  last_seen_at INTEGER NOT NULL,
  PRIMARY KEY (connection_id, platform_user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_visitors (
  token_sha256 TEXT PRIMARY KEY,       -- of what only their browser has
  connection_id TEXT NOT NULL,
  subject TEXT,                        -- whom the host page says they are
  name TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE code_runs (
  run_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  source_event_id INTEGER NOT NULL,    -- the user.message of the command, or the tool.call
  agent TEXT NOT NULL,
  acp_session_id TEXT,                 -- the agent's own name of its session
  state TEXT NOT NULL,                 -- running, parked, done
  attempts INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  UNIQUE (session_id, source_event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_positions (
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  PRIMARY KEY (session_key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  pos INTEGER PRIMARY KEY,
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL                   -- the whole record on one line, as it is polled and streamed
) STRICT;

CREATE TABLE grants (
  id TEXT PRIMARY KEY,
  session_key INTEGER NOT NULL,
  tool TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
, granted_by_kind TEXT) STRICT;

CREATE TABLE idempotent_answers (
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status INTEGER,                      -- null while the first request is still running
  body TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (principal_id, key)
) STRICT;

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
, decided_by TEXT, decided_by_kind TEXT) STRICT;

CREATE TABLE links (
  child_id TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  depth INTEGER NOT NULL,
  kind TEXT NOT NULL,
  tool_call_id TEXT,                   -- the call of the parent that made it
  status TEXT NOT NULL,                -- open, complete, failed
  cause TEXT,                          -- why it failed
  paused_by_parent INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, -- of the child and all below it, as its outcome says; 0 while open
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER
, task_id TEXT, attempt INTEGER, reserved_tokens INTEGER NOT NULL DEFAULT 0, reserved_cost_usd REAL NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE TABLE login_links (
  sha256 TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE logins (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  refresh_sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE losses (
  found_at INTEGER NOT NULL,
  records INTEGER NOT NULL,
  since INTEGER,                       -- of the newest record that was left; null: none was
  until INTEGER NOT NULL               -- of the newest record that was known
) STRICT;

CREATE TABLE lost_ids (
  session_key INTEGER NOT NULL,
  after_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  PRIMARY KEY (session_key, after_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE notice_settings (
  user_id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  scope TEXT NOT NULL,                 -- own, org
  kinds TEXT NOT NULL,                 -- JSON
  after_ms INTEGER NOT NULL,
  webhook_url TEXT,
  webhook_secret TEXT,                 -- encrypted
  webhook_since INTEGER,
  mail_address TEXT,
  mail_since INTEGER,                  -- NULL until the address is confirmed
  mail_code TEXT,                      -- encrypted
  mail_code_until INTEGER,
  mail_tries INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  way TEXT NOT NULL,                   -- webhook, mail
  about TEXT NOT NULL,                 -- an inbox item, or what a person asked for
  state TEXT NOT NULL,                 -- due, sending, sent, dead, withdrawn
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  error TEXT,
  UNIQUE (user_id, way, about)
) STRICT, WITHOUT ROWID;

CREATE TABLE organisations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

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

CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

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
, saga INTEGER NOT NULL DEFAULT 0, asked_id INTEGER NOT NULL DEFAULT 0, provisional INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE share_links (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  created_by TEXT NOT NULL,            -- a user; the link ends with them
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE snapshots (
  session_key INTEGER PRIMARY KEY,
  version TEXT NOT NULL,               -- of the code that folds
  last_id INTEGER NOT NULL,
  digest TEXT NOT NULL,                -- SHA-256 over the version, the record last_id and the body
  body TEXT NOT NULL                   -- JSON
) STRICT;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE store_identity (
  id TEXT PRIMARY KEY
) STRICT;

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

CREATE TABLE timers (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  data TEXT NOT NULL,                  -- JSON
  claimed_by TEXT,
  claimed_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE trees (
  root_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL
, board_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

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

CREATE INDEX browsers_alive ON browser_instances (alive_until) WHERE browser_id IS NOT NULL;

CREATE INDEX channel_deliveries_by_state ON channel_deliveries (connection_id, state, updated_at);

CREATE INDEX channel_deliveries_redo ON channel_deliveries (connection_id) WHERE redo = 1;

CREATE INDEX channel_identities_by_user ON channel_identities (user_id);

CREATE INDEX channel_inbound_by_sender ON channel_inbound (connection_id, sender, received_at);

CREATE INDEX channel_inbound_waiting ON channel_inbound (connection_id, conversation_key, seq)
  WHERE state = 'received';

CREATE INDEX channel_prompts_by_item ON channel_prompts (item_id) WHERE item_id IS NOT NULL;

CREATE INDEX channel_prompts_by_session ON channel_prompts (session_id);

CREATE INDEX channel_visitors_by_expiry ON channel_visitors (expires_at);

CREATE UNIQUE INDEX code_runs_at_work ON code_runs (session_id) WHERE state <> 'done';

CREATE INDEX grants_by_call ON grants (session_key, tool, arguments_hash);

CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created_at);

CREATE INDEX inbox_by_creator ON inbox_items (created_by, seq);

CREATE INDEX inbox_by_org ON inbox_items (org_id, seq);

CREATE INDEX inbox_by_session ON inbox_items (session_id, seq);

CREATE INDEX inbox_open_by_org ON inbox_items (org_id, created_at) WHERE status = 'pending';

CREATE INDEX inbox_pending ON inbox_items (session_key) WHERE status = 'pending';

CREATE INDEX links_by_parent ON links (parent_id, opened_at);

CREATE INDEX links_by_root ON links (root_id, opened_at);

CREATE INDEX logins_by_user ON logins (user_id);

CREATE INDEX missions_of_creator ON missions (org_id, created_by, key);

CREATE INDEX missions_of_org ON missions (org_id, key);

CREATE UNIQUE INDEX missions_under_way ON missions (session_id) WHERE ended_at IS NULL;

CREATE INDEX notice_settings_by_org ON notice_settings (org_id);

CREATE INDEX notices_by_user ON notices (user_id, created_at);

CREATE INDEX notices_due ON notices (next_at) WHERE state IN ('due', 'sending');

CREATE INDEX schedules_by_org ON schedules (org_id, created_at);

CREATE INDEX schedules_by_owner ON schedules (org_id, created_by, created_at);

CREATE INDEX schedules_by_session ON schedules (session_id, created_at);

CREATE INDEX service_accounts_by_org ON service_accounts (org_id);

CREATE INDEX sessions_by_creator ON sessions (created_by, key);

CREATE INDEX sessions_by_org ON sessions (org_id, key);

CREATE INDEX sessions_by_parent ON sessions (parent_id, key) WHERE parent_id IS NOT NULL;

CREATE INDEX sessions_leased ON sessions (key) WHERE worker_id IS NOT NULL;

CREATE INDEX sessions_queued ON sessions (created_by, (parent_id IS NOT NULL), wake_at)
  WHERE status = 'active' AND wake_id > cursor AND worker_id IS NULL;

CREATE INDEX sessions_to_roll_back ON sessions (key) WHERE saga = 2;

CREATE INDEX sessions_with_deltas ON sessions (key) WHERE delta_low > 0;

CREATE INDEX share_links_by_session ON share_links (session_id);

CREATE INDEX tasks_by_owner ON tasks (owner_id, created_at);

CREATE INDEX timers_by_due ON timers (due_at);

CREATE INDEX users_by_org ON users (org_id);

CREATE TABLE artifacts (
  org_key INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  artifact_id TEXT NOT NULL,
  number INTEGER NOT NULL,                -- from 1, in the order of the session
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  spec TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (org_key, session_key, artifact_id)
) STRICT;

CREATE TABLE board_notes (
  org_key INTEGER NOT NULL,
  root_id TEXT NOT NULL,
  seq INTEGER NOT NULL,                   -- from 1, in the order of commits
  writer_id TEXT NOT NULL,
  type TEXT NOT NULL,                  -- FACT, FAIL, CLAIM, RESULT
  content TEXT NOT NULL,
  ref TEXT,
  status TEXT NOT NULL,                -- active, superseded
  created_at INTEGER NOT NULL,
  expires_at INTEGER,                     -- of a CLAIM
  PRIMARY KEY (org_key, root_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE browser_instances (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  browser_id TEXT,                     -- NULL: there is none at the moment
  worker_id TEXT,
  alive_until INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  holder_user_id TEXT,                 -- NULL: the agent
  held_since INTEGER,
  control_until INTEGER,
  sealed_state TEXT,                   -- cookies and local storage, encrypted
  state_until INTEGER,
  PRIMARY KEY (org_key, session_id)
) STRICT;

CREATE TABLE channel_connections (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  service_account_id TEXT NOT NULL,
  state TEXT NOT NULL,                 -- connecting, live, degraded, conflict, broken, disabled
  state_since INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  last_error_at INTEGER,
  poll_cursor TEXT,
  inbound_seq INTEGER NOT NULL DEFAULT 0, -- the number of the last inbound row
  origin TEXT NOT NULL DEFAULT 'config', -- config, page
  settings TEXT,                       -- JSON; NULL: cairn.yaml has them
  sealed_secrets TEXT,
  revision INTEGER NOT NULL DEFAULT 0,    -- changes with the settings and with enabling
  refused_sha256 TEXT,                 -- of settings and secrets that the platform rejected
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, name)
) STRICT;

CREATE TABLE channel_conversations (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  generation INTEGER NOT NULL,            -- the newest one gets what comes in
  opened_by INTEGER NOT NULL,             -- the inbound row
  target TEXT NOT NULL,
  language TEXT,
  created_at INTEGER NOT NULL,
  routed INTEGER NOT NULL DEFAULT 0,      -- its session has a message
  delivered_through INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,     -- nothing is sent before
  disclosed_at INTEGER,
  progress_message_id TEXT,            -- the answer takes its place
  PRIMARY KEY (org_key, session_id),
  UNIQUE (org_key, connection_id, key, generation)
) STRICT;

CREATE TABLE channel_deliveries (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,            -- or in:<connection>, of an automatic reply
  event_id INTEGER NOT NULL,              -- 0: the disclosure; of an automatic reply the inbound row
  part INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,                 -- planned, sending, waiting, unknown, sent, held, dead, dropped
  attempts INTEGER NOT NULL DEFAULT 0,
  first_at INTEGER NOT NULL,
  next_at INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  platform_message_id TEXT,
  error TEXT,
  possible_duplicate INTEGER NOT NULL DEFAULT 0,
  body TEXT,                           -- of an automatic reply
  updated_at INTEGER NOT NULL,
  redo INTEGER NOT NULL DEFAULT 0,        -- 1: before the cursor, and to be sent again
  PRIMARY KEY (org_key, session_id, event_id, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_identities (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  workspace TEXT NOT NULL,             -- the namespace of the platform's user ids
  platform_user_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, platform, workspace, platform_user_id)
) STRICT;

CREATE TABLE channel_inbound (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  seq INTEGER NOT NULL,                   -- counted in the row of the connection
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
  PRIMARY KEY (org_key, connection_id, seq),
  UNIQUE (org_key, connection_id, event_key)
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
  org_key INTEGER NOT NULL,
  code_sha256 TEXT NOT NULL,
  org_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  used_by TEXT,                        -- the inbound row that used it, or burned
  PRIMARY KEY (org_key, code_sha256),
  UNIQUE (org_key, user_id)            -- one open code a user
) STRICT;

CREATE TABLE channel_prompts (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- question, gate
  about TEXT NOT NULL,                 -- tool_call_id of a question, item of a gate
  choices TEXT NOT NULL,
  event_id INTEGER,                       -- that asked
  part INTEGER,                           -- that shows the buttons
  item_id TEXT,
  shown_hash TEXT,                     -- of the arguments that were shown
  closed_at INTEGER,
  PRIMARY KEY (org_key, id)
) STRICT;

CREATE TABLE channel_senders (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  platform_user_id TEXT NOT NULL,
  name TEXT,
  verdict TEXT,                        -- allowed, blocked
  wrong_codes INTEGER NOT NULL DEFAULT 0,
  wrong_since INTEGER NOT NULL DEFAULT 0,
  told_at INTEGER,
  last_seen_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, connection_id, platform_user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_visitors (
  org_key INTEGER NOT NULL,
  connection_id TEXT NOT NULL,
  token_sha256 TEXT NOT NULL,          -- of a token that only their browser has
  subject TEXT,                        -- the identity that the host page asserts
  name TEXT,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, connection_id, token_sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE code_runs (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  source_event_id INTEGER NOT NULL,       -- the user.message of the command, or the tool.call
  agent TEXT NOT NULL,
  acp_session_id TEXT,                 -- the agent's own session id
  state TEXT NOT NULL,                 -- running, parked, done
  attempts INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (org_key, run_id),
  UNIQUE (org_key, session_id, source_event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE directory (
  kind TEXT NOT NULL,                  -- session, item, task, mission, schedule, connection
  id TEXT NOT NULL,
  org_key INTEGER NOT NULL,
  key INTEGER,                            -- of a session
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_positions (
  org_key INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  PRIMARY KEY (org_key, session_key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  pos INTEGER PRIMARY KEY,             -- the address in this file; not a key
  org_key INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL                   -- the whole record on one line, as it is polled and streamed
) STRICT;

CREATE TABLE grants (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_key INTEGER NOT NULL,
  tool TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  granted_by_kind TEXT,                -- NULL: it was not recorded
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, id)
) STRICT;

CREATE TABLE idempotent_answers (
  org_key INTEGER NOT NULL,
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status INTEGER,                         -- NULL while the first request is still running
  body TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, principal_id, key)
) STRICT;

CREATE TABLE inbox_items (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,                   -- grows with creation
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
  decided_by TEXT,                     -- NULL: it was not recorded
  decided_by_kind TEXT,
  read_at INTEGER,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  responded_at INTEGER,
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, seq)
) STRICT;

CREATE TABLE links (
  org_key INTEGER NOT NULL,
  child_id TEXT NOT NULL,
  parent_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  depth INTEGER NOT NULL,
  kind TEXT NOT NULL,
  tool_call_id TEXT,                   -- the call of the parent that created it
  task_id TEXT,
  attempt INTEGER,
  status TEXT NOT NULL,                -- open, complete, failed
  cause TEXT,                          -- why it failed
  paused_by_parent INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  reserved_cost_usd REAL NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, -- of the child and its descendants, from its outcome; 0 while open
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER,
  PRIMARY KEY (org_key, child_id)
) STRICT, WITHOUT ROWID;

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
  since INTEGER,                       -- of the newest record that was left; NULL: none was
  until INTEGER NOT NULL               -- of the newest record that was known
) STRICT;

CREATE TABLE lost_ids (
  org_key INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  after_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  PRIMARY KEY (org_key, session_key, after_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE marks (
  org_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- item, pin or view
  about TEXT NOT NULL,                 -- an inbox item, a session, or the id of a view
  content TEXT NOT NULL,               -- JSON
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, user_id, kind, about)
) STRICT;

CREATE TABLE mcp_accounts (
  org_key INTEGER NOT NULL,
  server TEXT NOT NULL,
  owner_id TEXT NOT NULL,              -- empty: shared by the organisation
  sealed TEXT NOT NULL,                -- tokens and registrations, encrypted
  issuer TEXT,
  scope TEXT,
  connected_at INTEGER,                 -- NULL: the owner has to log in
  updated_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  refresh_until INTEGER NOT NULL,
  PRIMARY KEY (org_key, server, owner_id)
) STRICT;

CREATE TABLE mcp_pending_logins (
  org_key INTEGER NOT NULL,
  state_sha256 TEXT NOT NULL,
  user_id TEXT NOT NULL,
  server TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  sealed TEXT NOT NULL,                -- the code verifier, encrypted
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, state_sha256)
) STRICT;

CREATE TABLE missions (
  org_key INTEGER NOT NULL,
  mission_id TEXT NOT NULL,
  key INTEGER NOT NULL,                   -- grows with creation
  session_id TEXT NOT NULL,            -- its coordinator, a root
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_by_kind TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- mission, research
  definition TEXT NOT NULL,            -- JSON: the request
  status TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the progress so far
  created_at INTEGER NOT NULL,
  ended_at INTEGER,                       -- NULL while it is not over
  PRIMARY KEY (org_key, mission_id),
  UNIQUE (org_key, key)
) STRICT;

CREATE TABLE notification_settings (
  org_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  scope TEXT NOT NULL,                 -- own, org
  kinds TEXT NOT NULL,                 -- JSON
  after_ms INTEGER NOT NULL,
  webhook_url TEXT,
  webhook_secret TEXT,                 -- encrypted
  webhook_since INTEGER,
  mail_address TEXT,
  mail_since INTEGER,                     -- NULL until the address is confirmed
  mail_code TEXT,                      -- encrypted
  mail_code_until INTEGER,
  mail_tries INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE notifications (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  way TEXT NOT NULL,                   -- webhook, mail
  about TEXT NOT NULL,                 -- an inbox item, or what a person requests
  state TEXT NOT NULL,                 -- due, sending, sent, dead, withdrawn
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  error TEXT,
  PRIMARY KEY (org_key, id),
  UNIQUE (org_key, user_id, way, about)
) STRICT, WITHOUT ROWID;

CREATE TABLE organisations (
  id TEXT PRIMARY KEY,
  org_key INTEGER NOT NULL UNIQUE,       -- the first column of every key of the organisation's tables
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE push_keys (
  org_key INTEGER NOT NULL PRIMARY KEY,
  public_key TEXT NOT NULL,
  sealed TEXT NOT NULL,                -- the private key, encrypted
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE push_subscriptions (
  org_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,                    -- derived from the address at the push service
  sealed TEXT NOT NULL,                -- the address and the keys of the browser, encrypted
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, user_id, id)
) STRICT;

CREATE TABLE research_branches (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,                   -- dotted path below its parent branch
  worker_id TEXT NOT NULL,
  question TEXT NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the result
  created_at INTEGER NOT NULL,
  harvested_at INTEGER,                   -- NULL until its coordinator has the result
  PRIMARY KEY (org_key, run_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE research_sources (
  org_key INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  source TEXT NOT NULL,                -- JSON
  PRIMARY KEY (org_key, run_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_runs (
  org_key INTEGER NOT NULL,
  schedule_id TEXT NOT NULL,
  slot_at INTEGER NOT NULL,               -- the first scheduled time that it stands for
  last_slot_at INTEGER NOT NULL,
  status TEXT NOT NULL,                -- queued, running, success, failed, skipped
  reason TEXT,
  collapsed INTEGER NOT NULL,             -- further scheduled times
  manual INTEGER NOT NULL,
  run_session_id TEXT,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (org_key, schedule_id, slot_at)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL,            -- the session that its runs report to
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  status TEXT NOT NULL,                -- active, paused, completed, expired, cancelled
  version INTEGER NOT NULL,
  due_at INTEGER,
  spec TEXT NOT NULL,                  -- JSON: what it starts, and when
  state TEXT NOT NULL,                 -- JSON: the next time, and the results of earlier ones
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, oldest_program INTEGER) STRICT;

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

CREATE TABLE session_agents (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  version INTEGER NOT NULL,            -- the version of the agent with which the session began
  PRIMARY KEY (org_key, session_id)
) STRICT;

CREATE TABLE sessions (
  pos INTEGER PRIMARY KEY,             -- the address in this file; not a key
  org_key INTEGER NOT NULL,
  key INTEGER NOT NULL,                   -- grows with creation; internal
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
  created_at INTEGER NOT NULL,            -- all times: epoch milliseconds
  updated_at INTEGER NOT NULL,
  last_id INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  tool_call_count INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,    -- 1 once a call had no known rate
  cursor INTEGER NOT NULL DEFAULT 0,
  wake_id INTEGER NOT NULL DEFAULT 0,
  wake_at INTEGER NOT NULL DEFAULT 0,     -- since when there has been work
  asked_id INTEGER NOT NULL DEFAULT 0,    -- the last event that suspends the turn for a person
  worker_id TEXT,                      -- NULL: no lease, or released
  epoch INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  lease_at INTEGER NOT NULL DEFAULT 0,    -- the last renewal
  recent TEXT NOT NULL DEFAULT '',     -- positions of the newest events, which event_positions lacks
  delta_low INTEGER NOT NULL DEFAULT 0,   -- lowest llm.delta that may still be there; 0: none
  pruned INTEGER NOT NULL DEFAULT 0,      -- llm.delta rows deleted so far
  saga INTEGER NOT NULL DEFAULT 0,        -- 0 none, 1 one runs, 2 one must be rolled back
  provisional INTEGER NOT NULL DEFAULT 0, -- 1 while the title is provisional
  UNIQUE (org_key, key)
) STRICT;

CREATE TABLE settings (
  org_key INTEGER NOT NULL,
  seq INTEGER NOT NULL,                -- grows with every change of the organisation
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,            -- 1, 2, … for each kind and name
  change TEXT NOT NULL,
  content TEXT,                        -- JSON; NULL: a removal, or a secret
  sealed TEXT,                         -- a secret, encrypted; NULL: none, or replaced since
  note TEXT,
  restored_from INTEGER,
  changed_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, seq)
) STRICT;

CREATE TABLE share_links (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  created_by TEXT NOT NULL,            -- a user; the link ends with them
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE snapshots (
  org_key INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  version TEXT NOT NULL,               -- of the code that folds
  last_id INTEGER NOT NULL,
  digest TEXT NOT NULL,                -- SHA-256 over the version, the record last_id and the body
  body TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (org_key, session_key)
) STRICT;

CREATE TABLE store_identity (
  id TEXT PRIMARY KEY
) STRICT;

CREATE TABLE tasks (
  org_key INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,              -- the session that created it
  root_id TEXT NOT NULL,
  goal TEXT NOT NULL,
  plan TEXT NOT NULL,                  -- JSON: the input of an attempt
  after TEXT NOT NULL,                 -- JSON: ids of tasks of the same owner
  max_attempts INTEGER NOT NULL,
  status TEXT NOT NULL,                -- todo, running, blocked, done, failed, cancelled
  attempt_count INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- JSON: the progress so far
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  PRIMARY KEY (org_key, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE timers (
  org_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  data TEXT NOT NULL,                  -- JSON
  claimed_by TEXT,
  claimed_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE trees (
  org_key INTEGER NOT NULL,
  root_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  board_seq INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (org_key, root_id)
) STRICT, WITHOUT ROWID;

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

CREATE INDEX browsers_alive ON browser_instances (org_key, alive_until) WHERE browser_id IS NOT NULL;

CREATE INDEX channel_deliveries_by_state ON channel_deliveries (org_key, connection_id, state, updated_at);

CREATE INDEX channel_deliveries_redo ON channel_deliveries (org_key, connection_id) WHERE redo = 1;

CREATE INDEX channel_identities_by_user ON channel_identities (org_key, user_id);

CREATE INDEX channel_inbound_by_sender ON channel_inbound (org_key, connection_id, sender, received_at);

CREATE INDEX channel_inbound_waiting ON channel_inbound (org_key, connection_id, conversation_key, seq)
  WHERE state = 'received';

CREATE INDEX channel_prompts_by_item ON channel_prompts (org_key, item_id) WHERE item_id IS NOT NULL;

CREATE INDEX channel_prompts_by_session ON channel_prompts (org_key, session_id);

CREATE INDEX channel_visitors_by_expiry ON channel_visitors (org_key, connection_id, expires_at);

CREATE UNIQUE INDEX code_runs_at_work ON code_runs (org_key, session_id) WHERE state <> 'done';

CREATE UNIQUE INDEX directory_of_sessions ON directory (org_key, key) WHERE kind = 'session';

CREATE INDEX grants_by_call ON grants (org_key, session_key, tool, arguments_hash);

CREATE INDEX idempotent_answers_by_age ON idempotent_answers (org_key, created_at);

CREATE INDEX inbox_by_creator ON inbox_items (org_key, created_by, seq);

CREATE INDEX inbox_by_session ON inbox_items (org_key, session_id, seq);

CREATE INDEX inbox_open ON inbox_items (org_key, created_at) WHERE status = 'pending';

CREATE INDEX inbox_pending ON inbox_items (org_key, session_key) WHERE status = 'pending';

CREATE INDEX links_by_parent ON links (org_key, parent_id, opened_at);

CREATE INDEX links_by_root ON links (org_key, root_id, opened_at);

CREATE INDEX logins_by_user ON logins (user_id);

CREATE INDEX missions_of_creator ON missions (org_key, created_by, key);

CREATE UNIQUE INDEX missions_under_way ON missions (org_key, session_id) WHERE ended_at IS NULL;

CREATE INDEX notifications_by_user ON notifications (org_key, user_id, created_at);

CREATE INDEX notifications_due ON notifications (org_key, next_at) WHERE state IN ('due', 'sending');

CREATE INDEX schedules_by_org ON schedules (org_key, created_at);

CREATE INDEX schedules_by_owner ON schedules (org_key, created_by, created_at);

CREATE INDEX schedules_by_session ON schedules (org_key, session_id, created_at);

CREATE INDEX service_accounts_by_org ON service_accounts (org_id);

CREATE INDEX session_agents_version ON session_agents (org_key, agent, version);

CREATE INDEX sessions_by_creator ON sessions (org_key, created_by, key);

CREATE INDEX sessions_by_parent ON sessions (org_key, parent_id, key) WHERE parent_id IS NOT NULL;

CREATE INDEX sessions_leased ON sessions (org_key, key) WHERE worker_id IS NOT NULL;

CREATE INDEX sessions_queued ON sessions (org_key, created_by, (parent_id IS NOT NULL), wake_at)
  WHERE status = 'active' AND wake_id > cursor AND worker_id IS NULL;

CREATE INDEX sessions_to_roll_back ON sessions (org_key, key) WHERE saga = 2;

CREATE INDEX sessions_with_deltas ON sessions (org_key, key) WHERE delta_low > 0;

CREATE UNIQUE INDEX settings_version ON settings (org_key, kind, name, version);

CREATE INDEX share_links_by_session ON share_links (session_id);

CREATE INDEX tasks_by_owner ON tasks (org_key, owner_id, created_at);

CREATE INDEX timers_by_due ON timers (org_key, due_at);

CREATE INDEX users_by_org ON users (org_id);

-- Messaging channels (channels.ts): what came in, what goes out, and who speaks. Times are epoch milliseconds.
CREATE TABLE channel_connections (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  service_account_id TEXT NOT NULL,
  state TEXT NOT NULL,                 -- connecting, live, degraded, conflict, broken, disabled
  last_error TEXT,
  last_error_at INTEGER,
  poll_cursor TEXT,
  UNIQUE (org_id, name)
) STRICT;

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
CREATE INDEX channel_identities_by_user ON channel_identities (user_id);

CREATE TABLE channel_pairings (
  code_sha256 TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  user_id TEXT NOT NULL UNIQUE,        -- one open code a user
  expires_at INTEGER NOT NULL,
  used_by TEXT                         -- the inbound row that used it, or burned
) STRICT;

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
  disclosed_at INTEGER,
  UNIQUE (connection_id, key, generation)
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
CREATE INDEX channel_inbound_waiting ON channel_inbound (connection_id, conversation_key, seq)
  WHERE state = 'received';
CREATE INDEX channel_inbound_by_sender ON channel_inbound (connection_id, sender, received_at);

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
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, event_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_deliveries_by_state ON channel_deliveries (connection_id, state, updated_at);

CREATE TABLE channel_prompts (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- question, gate
  about TEXT NOT NULL,                 -- tool_call_id of a question, item of a gate
  choices TEXT NOT NULL,
  closed_at INTEGER
) STRICT;
CREATE INDEX channel_prompts_by_session ON channel_prompts (session_id);

CREATE TABLE channel_leases (
  connection_id TEXT NOT NULL,
  role TEXT NOT NULL,                  -- consume, deliver
  holder TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  PRIMARY KEY (connection_id, role)
) STRICT, WITHOUT ROWID;

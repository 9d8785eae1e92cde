-- What came in over messaging channels, what goes out, and who speaks, as in migrations/0015_channels.sql.
CREATE TABLE channel_connections (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  service_account_id TEXT NOT NULL,
  state TEXT NOT NULL,                 -- connecting, live, degraded, conflict, broken, disabled
  last_error TEXT,
  last_error_at BIGINT,
  poll_cursor TEXT,
  UNIQUE (org_id, name)
);

CREATE TABLE channel_identities (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  workspace TEXT NOT NULL,             -- within which the platform's user ids are unique
  platform_user_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  linked_at BIGINT NOT NULL,
  UNIQUE (org_id, platform, workspace, platform_user_id)
);
CREATE INDEX channel_identities_by_user ON channel_identities (user_id);

CREATE TABLE channel_pairings (
  code_sha256 TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  user_id TEXT NOT NULL UNIQUE,        -- one open code a user
  expires_at BIGINT NOT NULL,
  used_by TEXT                         -- the inbound row that used it, or burned
);

CREATE TABLE channel_senders (
  connection_id TEXT NOT NULL,
  platform_user_id TEXT NOT NULL,
  name TEXT,
  verdict TEXT,                        -- allowed, blocked
  wrong_codes BIGINT NOT NULL DEFAULT 0,
  wrong_since BIGINT NOT NULL DEFAULT 0,
  told_at BIGINT,
  last_seen_at BIGINT NOT NULL,
  PRIMARY KEY (connection_id, platform_user_id)
);

CREATE TABLE channel_conversations (
  session_id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  generation BIGINT NOT NULL,         -- the newest takes what comes in
  opened_by BIGINT NOT NULL,          -- the inbound row
  target TEXT NOT NULL,
  language TEXT,
  created_at BIGINT NOT NULL,
  routed BIGINT NOT NULL DEFAULT 0,   -- its session has a message
  delivered_through BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL DEFAULT 0,  -- nothing goes out before
  disclosed_at BIGINT,
  UNIQUE (connection_id, key, generation)
);

CREATE TABLE channel_inbound (
  seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id TEXT NOT NULL,
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
  UNIQUE (connection_id, event_key)
);
CREATE INDEX channel_inbound_waiting ON channel_inbound (connection_id, conversation_key, seq)
  WHERE state = 'received';
CREATE INDEX channel_inbound_by_sender ON channel_inbound (connection_id, sender, received_at);

CREATE TABLE channel_deliveries (
  session_id TEXT NOT NULL,            -- or in:<connection>, of a notice that no session wrote
  event_id BIGINT NOT NULL,           -- 0: the disclosure; of a notice the inbound row
  part BIGINT NOT NULL,
  connection_id TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,                 -- planned, sending, waiting, unknown, sent, held, dead
  attempts BIGINT NOT NULL DEFAULT 0,
  first_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL DEFAULT 0,
  epoch BIGINT NOT NULL DEFAULT 0,
  platform_message_id TEXT,
  error TEXT,
  possible_duplicate BIGINT NOT NULL DEFAULT 0,
  body TEXT,                           -- of a notice
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, event_id, part)
);
CREATE INDEX channel_deliveries_by_state ON channel_deliveries (connection_id, state, updated_at);

CREATE TABLE channel_prompts (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- question, gate
  about TEXT NOT NULL,                 -- tool_call_id of a question, item of a gate
  choices TEXT NOT NULL,
  closed_at BIGINT
);
CREATE INDEX channel_prompts_by_session ON channel_prompts (session_id);

CREATE TABLE channel_leases (
  connection_id TEXT NOT NULL,
  role TEXT NOT NULL,                  -- consume, deliver
  holder TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  held_until BIGINT NOT NULL,
  PRIMARY KEY (connection_id, role)
);

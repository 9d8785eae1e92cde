-- Notices of the inbox, as in migrations/0024_notices.sql.
CREATE TABLE notice_settings (
  user_id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  scope TEXT NOT NULL,                 -- own, org
  kinds TEXT NOT NULL,                 -- JSON
  after_ms BIGINT NOT NULL,
  webhook_url TEXT,
  webhook_secret TEXT,                 -- encrypted
  webhook_since BIGINT,
  mail_address TEXT,
  mail_since BIGINT,                  -- NULL until the address is confirmed
  mail_code TEXT,                      -- encrypted
  mail_code_until BIGINT,
  mail_tries BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX notice_settings_by_org ON notice_settings (org_id);

CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  way TEXT NOT NULL,                   -- webhook, mail
  about TEXT NOT NULL,                 -- an inbox item, or what a person asked for
  state TEXT NOT NULL,                 -- due, sending, sent, dead, withdrawn
  attempts BIGINT NOT NULL DEFAULT 0,
  next_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  error TEXT,
  UNIQUE (user_id, way, about)
);
CREATE INDEX notices_due ON notices (next_at) WHERE state IN ('due', 'sending');
CREATE INDEX notices_by_user ON notices (user_id, created_at);

CREATE INDEX inbox_open_by_org ON inbox_items (org_id, created_at) WHERE status = 'pending';

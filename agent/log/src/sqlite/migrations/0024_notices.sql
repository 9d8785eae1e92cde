-- What waits in the inbox, told to people by webhook and mail (notices.ts). Times are epoch milliseconds.
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
CREATE INDEX notice_settings_by_org ON notice_settings (org_id);

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
CREATE INDEX notices_due ON notices (next_at) WHERE state IN ('due', 'sending');
CREATE INDEX notices_by_user ON notices (user_id, created_at);

CREATE INDEX inbox_open_by_org ON inbox_items (org_id, created_at) WHERE status = 'pending';

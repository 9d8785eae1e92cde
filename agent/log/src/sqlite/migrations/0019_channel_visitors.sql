-- Who sits in the frame of a website (channels.ts). Times are epoch milliseconds.
CREATE TABLE channel_visitors (
  token_sha256 TEXT PRIMARY KEY,       -- of what only their browser has
  connection_id TEXT NOT NULL,
  subject TEXT,                        -- whom the host page says they are
  name TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_visitors_by_expiry ON channel_visitors (expires_at);

-- Links that show one session to whoever has them (account-store.ts). Times are epoch milliseconds.
CREATE TABLE share_links (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  created_by TEXT NOT NULL,            -- a user; the link ends with them
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX share_links_by_session ON share_links (session_id);

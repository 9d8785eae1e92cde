-- Links that show one session to whoever has them, as in migrations/0023_shares.sql.
CREATE TABLE share_links (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  created_by TEXT NOT NULL,            -- a user; the link ends with them
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT
);
CREATE INDEX share_links_by_session ON share_links (session_id);

-- Oldest program: 1
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

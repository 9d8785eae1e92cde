-- Oldest program: 1
CREATE TABLE mcp_accounts (
  org_key INTEGER NOT NULL,
  server TEXT NOT NULL,
  owner_id TEXT NOT NULL,              -- empty: shared by the organisation
  sealed TEXT NOT NULL,                -- tokens and registrations, encrypted
  issuer TEXT,
  scope TEXT,
  connected_at BIGINT,                 -- NULL: the owner has to log in
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  refresh_until BIGINT NOT NULL,
  PRIMARY KEY (org_key, server, owner_id)
);

CREATE TABLE mcp_pending_logins (
  org_key INTEGER NOT NULL,
  state_sha256 TEXT NOT NULL,
  user_id TEXT NOT NULL,
  server TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  sealed TEXT NOT NULL,                -- the code verifier, encrypted
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (org_key, state_sha256)
);

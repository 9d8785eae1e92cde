-- Oldest program: 1
CREATE TABLE marks (
  org_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- item, pin or view
  about TEXT NOT NULL,                 -- an inbox item, a session, or the id of a view
  content TEXT NOT NULL,               -- JSON
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, user_id, kind, about)
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

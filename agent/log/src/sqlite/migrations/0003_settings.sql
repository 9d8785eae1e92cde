-- Oldest program: 1
CREATE TABLE settings (
  org_key INTEGER NOT NULL,
  seq INTEGER NOT NULL,                -- grows with every change of the organisation
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,            -- 1, 2, … for each kind and name
  change TEXT NOT NULL,
  content TEXT,                        -- JSON; NULL: a removal, or a secret
  sealed TEXT,                         -- a secret, encrypted; NULL: none, or replaced since
  note TEXT,
  restored_from INTEGER,
  changed_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (org_key, seq)
) STRICT;
CREATE UNIQUE INDEX settings_version ON settings (org_key, kind, name, version);

CREATE TABLE session_agents (
  org_key INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  version INTEGER NOT NULL,            -- the version of the agent with which the session began
  PRIMARY KEY (org_key, session_id)
) STRICT;
CREATE INDEX session_agents_version ON session_agents (org_key, agent, version);

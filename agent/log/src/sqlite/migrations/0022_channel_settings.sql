-- Connections that administrators make on their page.
ALTER TABLE channel_connections ADD COLUMN origin TEXT NOT NULL DEFAULT 'config';  -- config, page
ALTER TABLE channel_connections ADD COLUMN settings TEXT;         -- JSON; NULL: cairn.yaml has them
ALTER TABLE channel_connections ADD COLUMN sealed_secrets TEXT;
ALTER TABLE channel_connections ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;  -- of what processes run
ALTER TABLE channel_connections ADD COLUMN refused_sha256 TEXT;   -- of settings and secrets, refused

-- What a fold has made of a session's log up to last_id (snapshots.ts), so that it need not be read from its start. No part of the
-- log: a row may go at any moment.
CREATE TABLE snapshots (
  session_key INTEGER PRIMARY KEY,
  version TEXT NOT NULL,               -- of the code that folds
  last_id INTEGER NOT NULL,
  digest TEXT NOT NULL,                -- SHA-256 over the version, the record last_id and the body
  body TEXT NOT NULL                   -- JSON
) STRICT;

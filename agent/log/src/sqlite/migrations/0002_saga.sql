-- Whether a saga runs (1) or must be rolled back (2): a session that must roll back is claimable whatever its status.
ALTER TABLE sessions ADD COLUMN saga INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_to_roll_back ON sessions (key) WHERE saga = 2;

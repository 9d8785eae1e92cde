-- Notes that the sessions of a tree leave for each other, as in migrations/0012_board.sql.
CREATE TABLE board_notes (
  root_id TEXT NOT NULL,
  seq BIGINT NOT NULL,                 -- from 1, in the order of commits
  writer_id TEXT NOT NULL,
  type TEXT NOT NULL,                  -- FACT, FAIL, CLAIM, RESULT
  content TEXT NOT NULL,
  ref TEXT,
  status TEXT NOT NULL,                -- active, superseded
  created_at BIGINT NOT NULL,
  expires_at BIGINT,                   -- of a CLAIM
  PRIMARY KEY (root_id, seq)
);

ALTER TABLE trees ADD COLUMN board_seq BIGINT NOT NULL DEFAULT 0;

-- Notes that the sessions of a tree leave for each other (board.ts). Times are epoch milliseconds.
CREATE TABLE board_notes (
  root_id TEXT NOT NULL,
  seq INTEGER NOT NULL,                -- from 1, in the order of commits
  writer_id TEXT NOT NULL,
  type TEXT NOT NULL,                  -- FACT, FAIL, CLAIM, RESULT
  content TEXT NOT NULL,
  ref TEXT,
  status TEXT NOT NULL,                -- active, superseded
  created_at INTEGER NOT NULL,
  expires_at INTEGER,                  -- of a CLAIM
  PRIMARY KEY (root_id, seq)
) STRICT, WITHOUT ROWID;

ALTER TABLE trees ADD COLUMN board_seq INTEGER NOT NULL DEFAULT 0;

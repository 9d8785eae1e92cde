-- Made of the log; may be deleted at any time.
CREATE TABLE made_for (
  store TEXT NOT NULL,                 -- store_identity of the log
  version INTEGER NOT NULL             -- of what is kept here
) STRICT;

-- rowid: the session's position in the file of the log, and event id. Words alone, without places: a third of the size.
CREATE VIRTUAL TABLE texts USING fts5(words, content = '', detail = none, tokenize = 'ascii');

-- What a prefix may stand for.
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Up to which event each log is indexed; moves in the transaction that adds its texts.
CREATE TABLE progress (
  session_pos INTEGER PRIMARY KEY,     -- the session's position in the file of the log
  through INTEGER NOT NULL,
  shape TEXT NOT NULL                  -- JSON: the shape of the log up to there
) STRICT;

CREATE TABLE usage (
  day INTEGER NOT NULL,                -- its beginning in UTC, epoch milliseconds
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  unpriced_calls INTEGER NOT NULL,
  PRIMARY KEY (org_id, day, created_by, agent, model)
) STRICT, WITHOUT ROWID;

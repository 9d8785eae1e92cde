-- The index behind the search and the sums of use: made of the log outside of its commits, and made again
-- where it is missing.
CREATE TABLE search_progress (
  session_key BIGINT PRIMARY KEY,
  through BIGINT NOT NULL              -- the last event that is indexed
);

-- Words of a stretch of events of one session. From 0: of the session itself too.
CREATE TABLE search_blocks (
  session_key BIGINT NOT NULL,
  first_id BIGINT NOT NULL,
  last_id BIGINT NOT NULL,
  texts BIGINT NOT NULL,               -- how many; it is added to while they are few
  words TSVECTOR NOT NULL,
  PRIMARY KEY (session_key, first_id)
);
CREATE INDEX search_blocks_by_word ON search_blocks USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE TABLE search_usage (
  day BIGINT NOT NULL,                 -- its beginning in UTC, epoch milliseconds
  org_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  calls BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost_usd DOUBLE PRECISION NOT NULL,
  unpriced_calls BIGINT NOT NULL,
  PRIMARY KEY (org_id, day, created_by, agent, model)
);

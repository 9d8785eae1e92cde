-- Whether the title only stands in until a model has found one, and whether a call of the session had no known rate.
ALTER TABLE sessions ADD COLUMN provisional INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
-- In JSON a name between bare quotes is a key's and never part of a text. Of an aggregate by max() the other columns are those of that row.
UPDATE sessions SET provisional = 1 WHERE key IN (
  SELECT session_key FROM (SELECT session_key, json, max(id) FROM events WHERE type = 'session.title_updated' GROUP BY session_key)
  WHERE json LIKE '%"provisional":true%'
);
UPDATE sessions SET unpriced = 1 WHERE key IN (
  SELECT session_key FROM events WHERE type IN ('llm.response', 'advisor.result', 'expert.result', 'expert.failure',
    'span.outcome_evaluation_end', 'inbox.task_complete', 'context.compact') AND json LIKE '%"cost_unpriced_model":"%'
);

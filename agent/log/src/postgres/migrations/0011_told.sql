-- Whether the title only stands in until a model has found one, and whether a call of the session had no known rate.
ALTER TABLE sessions ADD COLUMN provisional BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
-- In JSON a name between bare quotes is a key's and never part of a text.
UPDATE sessions SET provisional = 1 WHERE key IN (
  SELECT session_key FROM (
    SELECT DISTINCT ON (session_key) session_key, json FROM events WHERE type = 'session.title_updated' ORDER BY session_key, id DESC
  ) last WHERE json LIKE '%"provisional":true%'
);
UPDATE sessions SET unpriced = 1 WHERE key IN (
  SELECT session_key FROM events WHERE type IN ('llm.response', 'advisor.result', 'expert.result', 'expert.failure',
    'span.outcome_evaluation_end', 'inbox.task_complete', 'context.compact') AND json LIKE '%"cost_unpriced_model":"%'
);

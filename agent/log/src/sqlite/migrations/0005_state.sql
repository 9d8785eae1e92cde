-- The last event that suspends the turn for a person: a question, or an action. Nothing waits for a proposal.
ALTER TABLE sessions ADD COLUMN asked_id INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET asked_id = coalesce((
  SELECT max(source_event_id) FROM inbox_items i
  WHERE i.session_id = sessions.id AND (kind = 'input_required' OR (kind = 'action_required' AND payload NOT LIKE '%"proposal":%'))
), 0);

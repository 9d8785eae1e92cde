-- Sessions with work that nobody holds, as a claim looks for them: by principal, roots before children, oldest work first. Those whose
-- holder died are found among the leased ones.
CREATE INDEX sessions_queued ON sessions (created_by, (parent_id IS NOT NULL), wake_at)
  WHERE status = 'active' AND wake_id > cursor AND worker_id IS NULL;
DROP INDEX sessions_with_work;

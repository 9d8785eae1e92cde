-- As in migrations/0010_fair_claims.sql; who holds a lease was not in an index here.
CREATE INDEX sessions_queued ON sessions (created_by, (parent_id IS NOT NULL), wake_at)
  WHERE status = 'active' AND wake_id > cursor AND worker_id IS NULL;
CREATE INDEX sessions_leased ON sessions (key) WHERE worker_id IS NOT NULL;
DROP INDEX sessions_with_work;

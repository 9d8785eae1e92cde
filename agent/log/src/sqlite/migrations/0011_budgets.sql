-- What is reserved of the parent's budget for a child, until its outcome.
ALTER TABLE links ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN reserved_cost_usd REAL NOT NULL DEFAULT 0;

-- As in migrations/0011_budgets.sql.
ALTER TABLE links ADD COLUMN reserved_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN reserved_cost_usd DOUBLE PRECISION NOT NULL DEFAULT 0;

-- Who decided on an item, and so gave the grant: a user or a service account. Null: it was not recorded.
ALTER TABLE inbox_items ADD COLUMN decided_by TEXT;
ALTER TABLE inbox_items ADD COLUMN decided_by_kind TEXT;
ALTER TABLE grants ADD COLUMN granted_by_kind TEXT;

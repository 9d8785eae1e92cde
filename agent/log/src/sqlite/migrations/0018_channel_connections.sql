-- States of connections, progress messages, what a prompt showed, dead letters that go out again.
ALTER TABLE channel_connections ADD COLUMN state_since INTEGER NOT NULL DEFAULT 0;

ALTER TABLE channel_conversations ADD COLUMN progress_message_id TEXT;  -- the answer takes its place

ALTER TABLE channel_deliveries ADD COLUMN redo INTEGER NOT NULL DEFAULT 0;  -- behind the cursor, and to be sent
CREATE INDEX channel_deliveries_redo ON channel_deliveries (connection_id) WHERE redo = 1;

ALTER TABLE channel_prompts ADD COLUMN event_id INTEGER;        -- that asked
ALTER TABLE channel_prompts ADD COLUMN part INTEGER;            -- that shows the buttons
ALTER TABLE channel_prompts ADD COLUMN item_id TEXT;
ALTER TABLE channel_prompts ADD COLUMN shown_hash TEXT;         -- of the arguments that were shown
CREATE INDEX channel_prompts_by_item ON channel_prompts (item_id) WHERE item_id IS NOT NULL;

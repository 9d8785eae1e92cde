-- Which store this file is: the mark beside it (store-mark.ts) is of that one and no other.
CREATE TABLE store_identity (
  id TEXT PRIMARY KEY
) STRICT;
INSERT INTO store_identity (id) VALUES (lower(hex(randomblob(16))));

-- Records that had been acknowledged and that the file no longer had at a start (losses.ts). Times are epoch milliseconds.
CREATE TABLE losses (
  found_at INTEGER NOT NULL,
  records INTEGER NOT NULL,
  since INTEGER,                       -- of the newest record that was left; null: none was
  until INTEGER NOT NULL               -- of the newest record that was known
) STRICT;

-- Ids that lost records may have had: above the last one that was left, up to last_id. None of them is given again.
CREATE TABLE lost_ids (
  session_key INTEGER NOT NULL,
  after_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  PRIMARY KEY (session_key, after_id)
) STRICT, WITHOUT ROWID;

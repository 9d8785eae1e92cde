-- Oldest program: 1
-- JSON: the shape of the log up to `through`. NULL: indexed by a program that folded none.
ALTER TABLE search_progress ADD COLUMN shape TEXT;

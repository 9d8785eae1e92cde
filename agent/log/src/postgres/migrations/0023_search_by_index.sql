-- The sessions of which a stretch holds these words. The planner takes reading the whole table for cheap when
-- a word is common: it does not count what fetching each long list of words costs, and the index, which
-- needs none of them, is twenty times as fast.
CREATE FUNCTION search_sessions(wanted tsquery) RETURNS SETOF bigint LANGUAGE sql STABLE
SET search_path FROM CURRENT SET enable_seqscan = off
AS 'SELECT DISTINCT session_key FROM search_blocks WHERE words @@ wanted';

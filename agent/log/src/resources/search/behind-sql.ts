/** Finds logs that are not fully indexed, on both stores. */

/**
 * Sessions, as `s`, whose log has grown since it was indexed, by any event: no event is read for it.
 * `progress` is the table of positions per session.
 */
export const selectBehind = (progress: string): string => `
  SELECT s.id, p.through AS after
  FROM sessions s
  LEFT JOIN ${progress} p ON p.session_key = s.key
  WHERE (p.through IS NULL OR s.last_id > p.through)`

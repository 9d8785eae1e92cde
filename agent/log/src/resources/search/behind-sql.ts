/** Finds logs that are not fully indexed, on both stores. */

/**
 * Sessions, as `s`, whose log has grown since it was indexed, by any event: no event is read for it.
 * `progress` is the table of positions, as `p`, and `on` finds that of a
 * session.
 */
export const selectBehind = (progress: string, on: string): string => `
  SELECT s.id, p.through AS after
  FROM sessions s
  LEFT JOIN ${progress} p ON ${on}
  WHERE (p.through IS NULL OR s.last_id > p.through)`

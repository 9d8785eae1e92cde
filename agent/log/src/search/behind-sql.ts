/** Which logs are behind, as both stores ask it. */

/**
 * Sessions, as `s`, whose log has grown since it was indexed, by whatever: no event is read for it.
 * `progress` is the table of how far each is.
 */
export const selectBehind = (progress: string): string =>
  `SELECT s.id, p.through AS after FROM sessions s LEFT JOIN ${progress} p ` +
  'ON p.session_key = s.key WHERE (p.through IS NULL OR s.last_id > p.through)'

/** Which logs are behind, as both stores ask it. */
import { INDEXED_TYPES } from './entries.ts'

/**
 * Sessions, as `s`, whose log has what is indexed and is not yet; `progress` is the table of how far each is.
 * An answer that is being written grows for seconds by chunks, of which nothing is indexed: no transaction
 * for those.
 */
export const selectBehind = (progress: string): string =>
  `SELECT s.id, p.through AS after FROM sessions s LEFT JOIN ${progress} p ON p.session_key = s.key ` +
  'WHERE (p.through IS NULL OR s.last_id > p.through AND EXISTS (SELECT 1 FROM events e ' +
  'WHERE e.session_key = s.key AND e.id > p.through AND e.type IN ' +
  `(${INDEXED_TYPES.map(type => `'${type}'`).join(', ')})))`

/** The statements of deliveries, identical for both stores, one statement each. */
import { orgOf } from '../../engine/directory.ts'
import { OF_CONNECTION } from './connections-sql.ts'

/** Only the holder of the lease may write. The parameters are those of the connection and of the epoch. */
export const fenced = (connection: number, epoch: number): string =>
  `EXISTS (SELECT 1 FROM channel_leases l
      WHERE l.connection_id = $${connection} AND l.role = 'deliver' AND l.epoch = $${epoch})`

export const OF_SESSION = `org_key = ${orgOf('session', '$1')} AND session_id = $1`
/** The session of an automatic reply is `in:` and its connection. */
const OF_DELIVERY = `org_key = coalesce(${orgOf('session', '$1')}, ${orgOf('connection', 'substr($1, 4)')})
      AND session_id = $1`

export const DELIVERY_SQL = {
  delivery: `SELECT * FROM channel_deliveries WHERE ${OF_DELIVERY} AND event_id = $2 AND part = $3`,
  beginDelivery: `
    INSERT INTO channel_deliveries (org_key, session_id, event_id, part, key, connection_id, epoch, state,
      attempts, first_at, updated_at)
    SELECT org_key, $1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), $4, id, CAST($6 AS BIGINT), 'sending', 1,
      CAST($7 AS BIGINT), CAST($7 AS BIGINT)
    FROM directory
    WHERE kind = 'connection' AND id = $5 AND ${fenced(5, 6)}
    ON CONFLICT (org_key, session_id, event_id, part) DO UPDATE
    SET state = 'sending', attempts = channel_deliveries.attempts + 1, epoch = excluded.epoch,
      updated_at = excluded.updated_at
    WHERE channel_deliveries.state NOT IN ('sent', 'dead', 'dropped')
    RETURNING part`,
  // The platform may have confirmed the part since then: in that case its outcome is known.
  settleDelivery: `
    UPDATE channel_deliveries
    SET state = $4, next_at = $5, updated_at = $6,
      platform_message_id = coalesce($7, platform_message_id), error = $8,
      possible_duplicate = CASE WHEN $9 = 1 THEN 1 ELSE possible_duplicate END
    WHERE ${OF_DELIVERY} AND event_id = $2 AND part = $3 AND NOT (state = 'sent' AND $4 = 'unknown')
      AND ${fenced(10, 11)}
    RETURNING part`,
  redoDelivery: `
    UPDATE channel_deliveries
    SET state = 'waiting', redo = 1, next_at = 0, first_at = $3, error = NULL
    WHERE ${OF_CONNECTION} AND key = $2 AND state = 'dead'
    RETURNING session_id, event_id, part`,
  dropDelivery: `
    UPDATE channel_deliveries
    SET state = 'dropped', updated_at = $3
    WHERE ${OF_CONNECTION} AND key = $2 AND state = 'dead'
    RETURNING part`,
  dueRedos: `
    SELECT *
    FROM channel_deliveries
    WHERE ${OF_CONNECTION} AND redo = 1 AND next_at <= $2
    ORDER BY session_id, event_id, part
    LIMIT $3`,
  endRedo: `
    UPDATE channel_deliveries
    SET redo = 0
    WHERE ${OF_DELIVERY} AND event_id = $2 AND part = $3 AND ${fenced(4, 5)}`,
  pruneDeliveries: `
    DELETE FROM channel_deliveries
    WHERE ${OF_CONNECTION} AND state IN ('sent', 'dropped') AND updated_at <= $2`,
  planReply: `
    INSERT INTO channel_deliveries (org_key, session_id, event_id, part, connection_id, key, body, state,
      first_at, updated_at)
    SELECT org_key, $1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), id, $5, $6, 'planned', CAST($7 AS BIGINT),
      CAST($7 AS BIGINT)
    FROM directory WHERE kind = 'connection' AND id = $4
    ON CONFLICT (org_key, session_id, event_id, part) DO NOTHING`,
  dueReplies: `
    SELECT *
    FROM channel_deliveries
    WHERE ${OF_DELIVERY}
      AND state IN ('planned', 'sending', 'waiting', 'unknown')
      AND next_at <= $2
      AND body IS NOT NULL
    ORDER BY event_id
    LIMIT $3`,
  listDeliveries: `
    SELECT *
    FROM channel_deliveries
    WHERE ${OF_CONNECTION} AND state = $2
    ORDER BY updated_at DESC
    LIMIT $3`,
  deliveryOfKey: `SELECT * FROM channel_deliveries WHERE ${OF_CONNECTION} AND key = $2`,
  deliveryOfMessage: `SELECT * FROM channel_deliveries WHERE ${OF_SESSION} AND platform_message_id = $2`,
  tellTaken: `
    UPDATE channel_deliveries
    SET state = 'sent', platform_message_id = $3, error = NULL, updated_at = $4
    WHERE ${OF_CONNECTION} AND key = $2 AND state IN ('sending', 'unknown')`,
  tellFailed: `
    UPDATE channel_deliveries
    SET state = $3, error = $4, updated_at = $5, next_at = CAST($6 AS BIGINT),
      redo = CASE WHEN $3 = 'held' THEN 1 ELSE 0 END, platform_message_id = NULL
    WHERE ${OF_CONNECTION} AND key = $2 AND state IN ('sending', 'unknown', 'sent')`,
} as const

/** Read-only statements. */
export const DELIVERY_READS = [
  'delivery',
  'dueReplies',
  'dueRedos',
  'listDeliveries',
  'deliveryOfKey',
  'deliveryOfMessage',
] as const satisfies readonly (keyof typeof DELIVERY_SQL)[]

/** The statements of channel-connections.ts, identical for both stores, one statement each. */

/** Reports of a process that runs the connection are ignored once it is disabled. */
const UNLESS_DISABLED = "(state <> 'disabled' OR $2 = 'disabled')"

export const CONNECTION_SQL = {
  putConnection: `
    INSERT INTO channel_connections (id, org_id, name, platform, service_account_id, state)
    VALUES ($1, $2, $3, $4, $5, 'connecting')
    ON CONFLICT (id) DO UPDATE SET platform = excluded.platform, origin = 'config', settings = NULL,
      sealed_secrets = NULL`,
  createConnection: `
    INSERT INTO channel_connections (id, org_id, name, platform, service_account_id, state, state_since,
      origin, settings, sealed_secrets)
    VALUES ($1, $2, $3, $4, $5, 'connecting', $8, 'page', $6, $7)
    ON CONFLICT DO NOTHING
    RETURNING id`,
  changeConnection: `
    UPDATE channel_connections
    SET settings = $3, sealed_secrets = $4, revision = revision + 1,
      state = CASE WHEN state = 'disabled' THEN state ELSE 'connecting' END, last_error = NULL,
      last_error_at = NULL, refused_sha256 = NULL
    WHERE id = $1 AND revision = $2 AND origin = 'page'
    RETURNING id`,
  deleteConnection: 'DELETE FROM channel_connections WHERE id = $1 AND origin = $2 RETURNING id',
  deleteItsDeliveries: 'DELETE FROM channel_deliveries WHERE connection_id = $1',
  deleteItsInbound: 'DELETE FROM channel_inbound WHERE connection_id = $1',
  deleteItsSenders: 'DELETE FROM channel_senders WHERE connection_id = $1',
  deleteItsVisitors: 'DELETE FROM channel_visitors WHERE connection_id = $1',
  deleteItsConversations: 'DELETE FROM channel_conversations WHERE connection_id = $1',
  deleteItsLeases: 'DELETE FROM channel_leases WHERE connection_id = $1',
  enableConnection: `
    UPDATE channel_connections
    SET state = 'connecting', state_since = $2, last_error = NULL, last_error_at = NULL,
      refused_sha256 = NULL, revision = revision + 1
    WHERE id = $1`,
  disableConnection: `
    UPDATE channel_connections
    SET state = 'disabled', state_since = $2, last_error = NULL, last_error_at = NULL,
      revision = revision + 1
    WHERE id = $1 AND state <> 'disabled'`,
  connection: 'SELECT * FROM channel_connections WHERE id = $1',
  connections: 'SELECT * FROM channel_connections WHERE org_id = $1 ORDER BY name',
  standingConnections:
    "SELECT * FROM channel_connections WHERE origin = 'page' OR org_id = $1 ORDER BY name, id",
  setConnection: `
    UPDATE channel_connections
    SET state_since = CASE WHEN state = $2 THEN state_since ELSE CAST($5 AS BIGINT) END, state = $2,
      last_error = $3, last_error_at = $4
    WHERE id = $1 AND ${UNLESS_DISABLED}`,
  refuseConnection: 'UPDATE channel_connections SET refused_sha256 = $2 WHERE id = $1',
  recoverConnection: `
    UPDATE channel_connections
    SET state = 'live', state_since = $2
    WHERE id = $1 AND state IN ('degraded', 'broken')`,
  connectionFigures: `
    SELECT (SELECT count(*) FROM channel_deliveries WHERE connection_id = $1 AND state = 'dead') AS dead,
      (SELECT max(updated_at) FROM channel_deliveries WHERE connection_id = $1 AND state = 'sent') AS last_out,
      (SELECT max(last_seen_at) FROM channel_senders WHERE connection_id = $1) AS last_in,
      (SELECT min(received_at) FROM channel_inbound WHERE connection_id = $1 AND state = 'received') AS waiting_since`,
  saveCursor: 'UPDATE channel_connections SET poll_cursor = $2 WHERE id = $1',
} as const

export type ConnectionStatement = keyof typeof CONNECTION_SQL

/** Read-only statements. */
export const CONNECTION_READS: readonly ConnectionStatement[] = [
  'connection',
  'connections',
  'standingConnections',
  'connectionFigures',
]

/** The statements of connections.ts, identical for both stores, one statement each. */

import { addOrganisation, orgNamed, orgOf } from '../../engine/directory.ts'

export const OF_CONNECTION = `org_key = ${orgOf('connection', '$1')} AND connection_id = $1`
export const THE_CONNECTION = `org_key = ${orgOf('connection', '$1')} AND id = $1`
/** Reports of a process that runs the connection are ignored once it is disabled. */
const UNLESS_DISABLED = "(state <> 'disabled' OR $2 = 'disabled')"

export const CONNECTION_SQL = {
  putOrganisation: addOrganisation('$1', '$1', 'CAST($2 AS BIGINT)'),
  findOrganisation: `SELECT org_key FROM organisations WHERE id = $1`,
  enterConnection: `
    INSERT INTO directory (kind, id, org_key)
    SELECT 'connection', $1, org_key FROM organisations WHERE id = $2
    ON CONFLICT DO NOTHING`,
  putConnection: `
    INSERT INTO channel_connections (org_key, id, org_id, name, platform, service_account_id, state)
    SELECT org_key, $1, id, $3, $4, $5, 'connecting' FROM organisations WHERE id = $2
    ON CONFLICT (org_key, id) DO UPDATE
    SET platform = excluded.platform, origin = 'config', settings = NULL, sealed_secrets = NULL`,
  createConnection: `
    INSERT INTO channel_connections (org_key, id, org_id, name, platform, service_account_id, state,
      state_since, origin, settings, sealed_secrets)
    SELECT org_key, $1, id, $3, $4, $5, 'connecting', CAST($8 AS BIGINT), 'page', $6, $7
    FROM organisations WHERE id = $2
    ON CONFLICT DO NOTHING
    RETURNING id`,
  changeConnection: `
    UPDATE channel_connections
    SET settings = $3, sealed_secrets = $4, revision = revision + 1,
      state = CASE WHEN state = 'disabled' THEN state ELSE 'connecting' END, last_error = NULL,
      last_error_at = NULL, refused_sha256 = NULL
    WHERE ${THE_CONNECTION} AND revision = $2 AND origin = 'page'
    RETURNING id`,
  deleteConnection: `DELETE FROM channel_connections WHERE ${THE_CONNECTION} AND origin = $2 RETURNING id`,
  deleteItsEntry: `DELETE FROM directory WHERE kind = 'connection' AND id = $1`,
  deleteItsDeliveries: `DELETE FROM channel_deliveries WHERE ${OF_CONNECTION}`,
  deleteItsInbound: `DELETE FROM channel_inbound WHERE ${OF_CONNECTION}`,
  deleteItsSenders: `DELETE FROM channel_senders WHERE ${OF_CONNECTION}`,
  deleteItsVisitors: `DELETE FROM channel_visitors WHERE ${OF_CONNECTION}`,
  deleteItsConversations: `DELETE FROM channel_conversations WHERE ${OF_CONNECTION}`,
  deleteItsLeases: `DELETE FROM channel_leases WHERE connection_id = $1`,
  enableConnection: `
    UPDATE channel_connections
    SET state = 'connecting', state_since = $2, last_error = NULL, last_error_at = NULL,
      refused_sha256 = NULL, revision = revision + 1
    WHERE ${THE_CONNECTION}`,
  disableConnection: `
    UPDATE channel_connections
    SET state = 'disabled', state_since = $2, last_error = NULL, last_error_at = NULL,
      revision = revision + 1
    WHERE ${THE_CONNECTION} AND state <> 'disabled'`,
  connection: `SELECT * FROM channel_connections WHERE ${THE_CONNECTION}`,
  connections: `SELECT * FROM channel_connections WHERE org_key = ${orgNamed('$1')} ORDER BY name`,
  standingConnections: `SELECT * FROM channel_connections WHERE origin = 'page' OR org_id = $1 ORDER BY name, id`,
  setConnection: `
    UPDATE channel_connections
    SET state_since = CASE WHEN state = $2 THEN state_since ELSE CAST($5 AS BIGINT) END, state = $2,
      last_error = $3, last_error_at = $4
    WHERE ${THE_CONNECTION} AND ${UNLESS_DISABLED}`,
  refuseConnection: `UPDATE channel_connections SET refused_sha256 = $2 WHERE ${THE_CONNECTION}`,
  recoverConnection: `
    UPDATE channel_connections
    SET state = 'live', state_since = $2
    WHERE ${THE_CONNECTION} AND state IN ('degraded', 'broken')`,
  connectionFigures: `
    SELECT (SELECT count(*) FROM channel_deliveries WHERE ${OF_CONNECTION} AND state = 'dead') AS dead,
      (SELECT max(updated_at) FROM channel_deliveries WHERE ${OF_CONNECTION} AND state = 'sent') AS last_out,
      (SELECT max(last_seen_at) FROM channel_senders WHERE ${OF_CONNECTION}) AS last_in,
      (SELECT min(received_at) FROM channel_inbound WHERE ${OF_CONNECTION} AND state = 'received') AS waiting_since`,
  saveCursor: `UPDATE channel_connections SET poll_cursor = $2 WHERE ${THE_CONNECTION}`,
} as const

export type ConnectionStatement = keyof typeof CONNECTION_SQL

/** Read-only statements. */
export const CONNECTION_READS: readonly ConnectionStatement[] = [
  'findOrganisation',
  'connection',
  'connections',
  'standingConnections',
  'connectionFigures',
]

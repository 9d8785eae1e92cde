/** The statements of MCP accounts, identical for both stores, one statement each. Callers supply the time. */
import { orgNamed } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

/** `$1` is the organisation, `$2` the server, `$3` the owner. */
const THE_ACCOUNT = `org_key = ${orgNamed('$1')} AND server = $2 AND owner_id = $3`

const TEXT = {
  mcpAccount: `SELECT * FROM mcp_accounts WHERE ${THE_ACCOUNT}`,
  mcpAccounts: `SELECT * FROM mcp_accounts WHERE org_key = ${orgNamed('$1')} AND owner_id = $2 ORDER BY server`,
  addMcpAccount: `
    INSERT INTO mcp_accounts
      (org_key, server, owner_id, sealed, issuer, scope, connected_at, updated_at, revision, refresh_until)
    SELECT org_key, $2, $3, $4, $5, $6, CAST($7 AS BIGINT), CAST($8 AS BIGINT), 1, 0 FROM organisations WHERE id = $1
    ON CONFLICT DO NOTHING
    RETURNING server`,
  changeMcpAccount: `
    UPDATE mcp_accounts
    SET sealed = $5, issuer = $6, scope = $7, connected_at = $8, updated_at = $9, revision = revision + 1,
      refresh_until = 0
    WHERE ${THE_ACCOUNT} AND revision = $4
    RETURNING server`,
  removeMcpAccount: `DELETE FROM mcp_accounts WHERE ${THE_ACCOUNT} RETURNING server`,
  claimMcpRefresh: `
    UPDATE mcp_accounts
    SET refresh_until = $6
    WHERE ${THE_ACCOUNT} AND revision = $4 AND refresh_until <= $5
    RETURNING server`,
  addMcpLogin: `
    INSERT INTO mcp_pending_logins (org_key, state_sha256, user_id, server, owner_id, sealed, expires_at)
    SELECT org_key, $2, $3, $4, $5, $6, CAST($7 AS BIGINT) FROM organisations WHERE id = $1`,
  takeMcpLogin: `
    DELETE FROM mcp_pending_logins
    WHERE org_key = ${orgNamed('$1')} AND state_sha256 = $2 AND user_id = $3 AND expires_at > $4
    RETURNING server, owner_id, sealed`,
  pruneMcpLogins: `DELETE FROM mcp_pending_logins WHERE org_key = ${orgNamed('$1')} AND expires_at <= $2`,
} as const

export type McpAccountStatement = keyof typeof TEXT

export const MCP_ACCOUNT_SQL: NamedSql<McpAccountStatement> = {
  prefix: 'mcp',
  text: TEXT,
  reads: ['mcpAccount', 'mcpAccounts'],
}

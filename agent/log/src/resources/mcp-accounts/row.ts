/**
 * Accounts at MCP servers: what a person, or an organisation, was given by the authorization server of an MCP
 * server, and logins in progress. Everything secret is encrypted by the caller. Times are epoch milliseconds.
 */
import { createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { MCP_ACCOUNT_SQL, type McpAccountStatement } from './sql.ts'

/** `owner_id`: the user; empty for an account that the organisation shares. */
export type McpAccountKey = { org_id: string; server: string; owner_id: string }
export type McpAccountRow = {
  server: string
  owner_id: string
  /** Tokens and registrations, encrypted by the caller. */
  sealed: string
  /** The authorization server; null before the first login. */
  issuer: string | null
  /** Granted, separated by blanks; null if the authorization server did not say. */
  scope: string | null
  /** Null: the owner has to log in. */
  connected_at: number | null
  updated_at: number
  /** Grows with every change. */
  revision: number
}
type McpAccountChange = Pick<McpAccountRow, 'sealed' | 'issuer' | 'scope' | 'connected_at'>
/** A login in progress; of its state only the hash is stored. */
type McpPendingLogin = { server: string; owner_id: string; sealed: string }

export type McpAccountStore = {
  account(key: McpAccountKey): Promise<McpAccountRow | null>
  accounts(orgId: string, ownerId: string): Promise<McpAccountRow[]>
  /** `revision`: as read; null: there is none. False if another process changed it since. */
  keep(key: McpAccountKey, revision: number | null, change: McpAccountChange): Promise<boolean>
  remove(key: McpAccountKey): Promise<boolean>
  /** One caller at a time may refresh the tokens of this revision, for `ms`. */
  claimRefresh(key: McpAccountKey, revision: number, ms: number): Promise<boolean>
  beginLogin(
    orgId: string,
    login: McpPendingLogin & { state_sha256: string; user_id: string; ttl_ms: number },
  ): Promise<void>
  /** Returns a login once, and only to the person who started it. */
  takeLogin(orgId: string, stateSha256: string, userId: string): Promise<McpPendingLogin | null>
}

type Stored = Omit<McpAccountRow, 'connected_at' | 'updated_at' | 'revision'> &
  Record<'connected_at' | 'updated_at' | 'revision', unknown>

const toRow = ({ server, owner_id, sealed, issuer, scope, ...row }: Stored): McpAccountRow => ({
  server,
  owner_id,
  sealed,
  issuer,
  scope,
  connected_at: row.connected_at === null ? null : Number(row.connected_at),
  updated_at: Number(row.updated_at),
  revision: Number(row.revision),
})

function createMcpAccountStore(ask: AskNamed<McpAccountStatement>, now: () => number): McpAccountStore {
  const { all, one, act, did } = createAsking(ask)
  const values = ({ org_id, server, owner_id }: McpAccountKey) => [org_id, server, owner_id] as const
  return {
    async account(key) {
      const row = await one<Stored>('mcpAccount', ...values(key))
      return row === null ? null : toRow(row)
    },
    accounts: async (orgId, ownerId) => (await all<Stored>('mcpAccounts', orgId, ownerId)).map(toRow),
    keep: (key, revision, { sealed, issuer, scope, connected_at }) =>
      revision === null
        ? did('addMcpAccount', ...values(key), sealed, issuer, scope, connected_at, now())
        : did('changeMcpAccount', ...values(key), revision, sealed, issuer, scope, connected_at, now()),
    remove: key => did('removeMcpAccount', ...values(key)),
    claimRefresh: (key, revision, ms) => did('claimMcpRefresh', ...values(key), revision, now(), now() + ms),
    async beginLogin(orgId, { state_sha256, user_id, server, owner_id, sealed, ttl_ms }) {
      await act('pruneMcpLogins', orgId, now())
      await act('addMcpLogin', orgId, state_sha256, user_id, server, owner_id, sealed, now() + ttl_ms)
    },
    takeLogin: (orgId, stateSha256, userId) =>
      one<McpPendingLogin>('takeMcpLogin', orgId, stateSha256, userId, now()),
  }
}

export const mcpAccounts = onBothStores<never, McpAccountStore, McpAccountStatement>(
  MCP_ACCOUNT_SQL,
  {},
  createMcpAccountStore,
)

/**
 * The account of one owner at one MCP server. The store keeps its tokens, its registrations by authorization
 * server and the last request for permissions encrypted.
 */
import type { McpAccountKey, McpAccountStore } from '@cairn/log'
import type { Sealing } from '@cairn/sessions'
import { z } from 'zod'

const Tokens = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  /** Epoch milliseconds; absent: the authorization server did not say. */
  expires_at: z.number().optional(),
  /** The authorization server that issued them. No other one receives the refresh token. */
  issuer: z.string(),
  /** The MCP server for which they were issued. No other address receives them. */
  url: z.string(),
  resource: z.string().optional(),
})
export type Tokens = z.infer<typeof Tokens>

const Account = z.object({
  tokens: Tokens.nullable(),
  /** Registrations, by issuer: one authorization server's client is nothing to another. */
  clients: z.record(z.string(), z.record(z.string(), z.unknown())),
  /** From the server's last refusal: what the next login asks for. */
  wanted: z.object({ scope: z.string().optional(), resource_metadata_url: z.string().optional() }).nullable(),
})
export type Account = z.infer<typeof Account>
export type StoredAccount = { account: Account; revision: number | null }

const EMPTY: Account = { tokens: null, clients: {}, wanted: null }
const MAX_CONFLICTS = 20

export type Accounts = {
  read(key: McpAccountKey): Promise<StoredAccount>
  /** Repeats the change on the newest revision if another process was first. Returns the changed account. */
  change(key: McpAccountKey, change: (account: Account) => Account): Promise<Account>
}

/** The key is authenticated: a sealed account that was moved to another person's row cannot be opened. */
const about = ({ org_id, server, owner_id }: McpAccountKey): string =>
  `mcp account ${JSON.stringify([org_id, server, owner_id])}`

export function createAccounts({
  store,
  sealing,
  now,
}: {
  store: McpAccountStore
  sealing: Sealing
  now: () => number
}): Accounts {
  async function read(key: McpAccountKey): Promise<StoredAccount & { connected_at: number | null }> {
    const row = await store.account(key)
    if (row === null) return { account: EMPTY, revision: null, connected_at: null }
    const { revision, connected_at } = row
    // Sealed with the key of a lost data directory: the person has to log in again.
    const text = sealing.open(about(key), row.sealed)
    return { account: text === null ? EMPTY : Account.parse(JSON.parse(text)), revision, connected_at }
  }
  return {
    read,
    async change(key, change) {
      for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
        const { account, revision, connected_at } = await read(key)
        const changed = change(account)
        const { tokens } = changed
        const isNew = tokens !== null && account.tokens === null
        const kept = await store.keep(key, revision, {
          sealed: sealing.seal(about(key), JSON.stringify(changed)),
          issuer: tokens?.issuer ?? null,
          scope: tokens?.scope ?? null,
          connected_at: tokens === null ? null : isNew ? now() : connected_at,
        })
        if (kept) return changed
      }
      throw new Error(`[mcp accounts] ${MAX_CONFLICTS} conflicting changes of one account`)
    },
  }
}

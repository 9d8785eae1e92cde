/** Accounts at MCP servers in memory, as the stores keep them. */
import type { McpAccountRow, McpAccountStore } from '@cairn/log'

export function memoryAccounts(
  now: () => number = Date.now,
): McpAccountStore & { rows: () => McpAccountRow[] } {
  const rows = new Map<string, McpAccountRow & { refresh_until: number }>()
  const logins = new Map<
    string,
    { user_id: string; until: number; server: string; owner_id: string; sealed: string }
  >()
  const keyOf = (...parts: string[]): string => JSON.stringify(parts)
  return {
    rows: () => [...rows.values()],
    account: ({ org_id, server, owner_id }) =>
      Promise.resolve(rows.get(keyOf(org_id, server, owner_id)) ?? null),
    accounts: (_, ownerId) => Promise.resolve([...rows.values()].filter(row => row.owner_id === ownerId)),
    keep({ org_id, server, owner_id }, revision, change) {
      const key = keyOf(org_id, server, owner_id)
      if ((rows.get(key)?.revision ?? null) !== revision) return Promise.resolve(false)
      rows.set(key, {
        server,
        owner_id,
        ...change,
        updated_at: now(),
        revision: (revision ?? 0) + 1,
        refresh_until: 0,
      })
      return Promise.resolve(true)
    },
    remove: ({ org_id, server, owner_id }) => Promise.resolve(rows.delete(keyOf(org_id, server, owner_id))),
    claimRefresh({ org_id, server, owner_id }, revision, ms) {
      const row = rows.get(keyOf(org_id, server, owner_id))
      if (row === undefined || row.revision !== revision || row.refresh_until > now())
        return Promise.resolve(false)
      row.refresh_until = now() + ms
      return Promise.resolve(true)
    },
    beginLogin(orgId, { state_sha256, user_id, server, owner_id, sealed, ttl_ms }) {
      logins.set(keyOf(orgId, state_sha256), { user_id, until: now() + ttl_ms, server, owner_id, sealed })
      return Promise.resolve()
    },
    takeLogin(orgId, stateSha256, userId) {
      const key = keyOf(orgId, stateSha256)
      const login = logins.get(key)
      if (login === undefined || login.user_id !== userId || login.until <= now())
        return Promise.resolve(null)
      logins.delete(key)
      const { server, owner_id, sealed } = login
      return Promise.resolve({ server, owner_id, sealed })
    },
  }
}

/** Accounts at MCP servers: one revision at a time, one refresh at a time, and logins that are used once. */
import { expect, test } from 'vitest'
import type { McpAccountKey } from '@cairn/log'
import type { Bench } from './bench.ts'

const ORG = 'org_1'
const KEY: McpAccountKey = { org_id: ORG, server: 'linear', owner_id: 'ann' }
const change = (sealed: string, connected_at: number | null = null) => ({
  sealed,
  issuer: 'https://as.example.org',
  scope: 'read write',
  connected_at,
})

export function defineMcpAccounts({ open }: Bench): void {
  async function begin() {
    const opened = await open()
    await opened.store.accounts.ensureFirstAdmin(
      { id: ORG, name: 'Org' },
      { id: 'root', email: 'root@example.org', name: 'Root' },
    )
    return { ...opened, accounts: opened.store.mcpAccounts }
  }

  test('an account is kept for its server and owner, and a stale change is refused', async () => {
    const { accounts, clock } = await begin()
    expect(await accounts.account(KEY)).toBeNull()
    expect(await accounts.keep(KEY, null, change('one'))).toBe(true)
    expect(await accounts.keep(KEY, null, change('again'))).toBe(false)
    expect(await accounts.account(KEY)).toEqual({
      server: 'linear',
      owner_id: 'ann',
      ...change('one'),
      updated_at: clock.now(),
      revision: 1,
    })
    expect(await accounts.keep(KEY, 1, change('two', 7))).toBe(true)
    expect(await accounts.keep(KEY, 1, change('stale'))).toBe(false)
    expect(await accounts.account(KEY)).toMatchObject({ sealed: 'two', connected_at: 7, revision: 2 })
    for (const other of [
      { ...KEY, owner_id: 'bob' },
      { ...KEY, owner_id: '' },
      { ...KEY, server: 'github' },
      { ...KEY, org_id: 'org_2' },
    ])
      expect(await accounts.account(other)).toBeNull()
    expect(await accounts.accounts(ORG, 'ann')).toHaveLength(1)
    expect(await accounts.accounts(ORG, 'bob')).toEqual([])
    expect(await accounts.remove(KEY)).toBe(true)
    expect(await accounts.remove(KEY)).toBe(false)
  })

  test('one process at a time refreshes the tokens of a revision', async () => {
    const { accounts, clock } = await begin()
    await accounts.keep(KEY, null, change('one'))
    expect(await accounts.claimRefresh(KEY, 1, 1000)).toBe(true)
    expect(await accounts.claimRefresh(KEY, 1, 1000)).toBe(false)
    clock.advance(1000)
    expect(await accounts.claimRefresh(KEY, 1, 1000)).toBe(true)
    await accounts.keep(KEY, 1, change('two'))
    expect(await accounts.claimRefresh(KEY, 1, 1000)).toBe(false)
    expect(await accounts.claimRefresh(KEY, 2, 1000)).toBe(true)
  })

  test('a login is taken once, in time, by the person who began it', async () => {
    const { accounts, clock } = await begin()
    const login = { server: 'linear', owner_id: 'ann', sealed: 'verifier' }
    const pending = { ...login, state_sha256: 'a', user_id: 'ann', ttl_ms: 1000 }
    await accounts.beginLogin(ORG, pending)
    await accounts.beginLogin(ORG, { ...pending, state_sha256: 'b' })
    expect(await accounts.takeLogin(ORG, 'a', 'bob')).toBeNull()
    expect(await accounts.takeLogin('org_2', 'a', 'ann')).toBeNull()
    expect(await accounts.takeLogin(ORG, 'a', 'ann')).toEqual(login)
    expect(await accounts.takeLogin(ORG, 'a', 'ann')).toBeNull()
    clock.advance(1000)
    expect(await accounts.takeLogin(ORG, 'b', 'ann')).toBeNull()
  })
}

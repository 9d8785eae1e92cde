/** Logins at MCP servers through the API and its pages. */
import { createActionItem } from '@cairn/sessions'
import { AppError } from '@cairn/protocol'
import { expect, test } from 'vitest'
import type { McpAccounts } from '../src/mcp-accounts.ts'
import { mcpPages } from '../src/mcp-pages.ts'
import { startService } from './service.ts'

const LINK = 'https://cairn.example.org/v1/mcp/connect/x'

/** Accounts whose logins end at once; `finished` lists the persons of completed ones. */
function fakeAccounts(): McpAccounts & { finished: string[] } {
  const finished: string[] = []
  return {
    finished,
    begin: server =>
      server === 'x'
        ? Promise.resolve({ authorization_url: 'https://as.example.org/authorize?x=1', expires_at: 0 })
        : Promise.reject(new AppError('not_found', `MCP server ${server} not found.`)),
    complete(params, { id }) {
      if (params.get('state') !== 'mine')
        return Promise.reject(new AppError('wrong_state', 'A <b>used</b> login.'))
      finished.push(id)
      return Promise.resolve({ server: 'x', link: LINK })
    },
    list: () =>
      Promise.resolve([
        {
          server: 'x',
          per: 'user',
          connected: true,
          scope: 'read',
          issuer: 'https://as.example.org',
          connected_at: 0,
        },
      ]),
    remove: server => Promise.resolve(server === 'x'),
    linkOf: () => LINK,
    clientDocument: () => ({ client_id: 'https://cairn.example.org/v1/mcp/client.json' }),
  }
}

async function begin() {
  const accounts = fakeAccounts()
  const service = await startService({
    mcp: accounts,
    mountsOf: deps => [mcpPages({ accounts, sessions: deps })],
  })
  const { user, token } = await service.addUser()
  return { service, accounts, user, token }
}

test('the routes list, begin and delete the accounts of the caller, for users only', async () => {
  const { service, token } = await begin()
  await using _ = service
  expect((await service.call('/v1/mcp-accounts', { token })).json).toEqual({
    accounts: [expect.objectContaining({ server: 'x', connected: true, link: LINK })],
  })
  expect((await service.call('/v1/mcp-accounts/x/login', { method: 'POST', token })).json).toMatchObject({
    authorization_url: 'https://as.example.org/authorize?x=1',
  })
  expect((await service.call('/v1/mcp-accounts/x', { method: 'DELETE', token })).status).toBe(204)
  expect((await service.call('/v1/mcp-accounts/y', { method: 'DELETE', token })).status).toBe(404)
  expect((await service.call('/v1/mcp-accounts', { token: null })).status).toBe(401)
})

test('a link of another site shows a page first, and one of this site goes to the authorization server', async () => {
  const { service, token } = await begin()
  await using _ = service
  const without = await service.call('/v1/mcp/connect/x', { token: null })
  expect([without.status, without.text]).toEqual([
    200,
    expect.stringContaining('href="/v1/mcp/connect/x?from_here=1"'),
  ])
  expect(without.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect((await service.call('/v1/mcp/connect/x?from_here=1', { token: null })).status).toBe(401)
  const there = await service.call('/v1/mcp/connect/x', { token })
  expect([there.status, there.headers.get('location')]).toEqual([302, 'https://as.example.org/authorize?x=1'])
  expect((await service.call('/v1/mcp/client.json', { token: null })).json).toEqual({
    client_id: 'https://cairn.example.org/v1/mcp/client.json',
  })
})

test('the callback finishes the login of the person, completes their request, and shows no markup of others', async () => {
  const { service, accounts, user, token } = await begin()
  await using _ = service
  const session_id = await service.newSession(token)
  const created = createActionItem(
    { newId: () => 'item' },
    {
      title: 't',
      instructions: 'i',
      context: 'c',
      action_type: 'connect_account',
      target: LINK,
      reason: 'r',
    },
  )
  await service.store.commit({ session_id, events: [created.event] })
  const away = await service.call('/v1/mcp/callback?state=mine&code=c', { token: null })
  expect(away.text).toContain('url=/v1/mcp/callback?state=mine&amp;code=c&amp;from_here=1')
  expect(accounts.finished).toEqual([])
  const back = await service.call('/v1/mcp/callback?state=mine&code=c&from_here=1', { token })
  expect([back.status, back.text]).toEqual([200, expect.stringContaining('x is connected')])
  expect(accounts.finished).toEqual([user.id])
  expect(await service.store.inbox.get('item')).toMatchObject({ status: 'responded', decision: 'completed' })
  const used = await service.call('/v1/mcp/callback?state=used', { token })
  expect([used.status, used.text]).toEqual([400, expect.stringContaining('A &lt;b&gt;used&lt;/b&gt; login.')])
})

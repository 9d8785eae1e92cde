/** Access to settings: administrators change them, users read them, programs do neither. */
import { createClient } from '@cairn/client'
import { type RouteName, ROUTES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { makePlace, startService } from './server.ts'

const PATHS = /^\/(?:agents|experts|providers|mcp-servers|skills|default-model|admin\/changes)\b/
const names = (Object.keys(ROUTES) as RouteName[]).filter(name => PATHS.test(ROUTES[name].path))
const writes = names.filter(name => ROUTES[name].method !== 'GET')

test('every route that changes settings, tests them or lists changes is for administrators', async () => {
  expect(writes.length).toBeGreaterThan(20)
  for (const name of [...writes, 'listChanges'] as const)
    expect([name, ROUTES[name].access]).toEqual([name, 'admin'])
  const service = await startService(makePlace())
  const { client, url } = service
  const { login_token } = await client.call('createUser', {
    body: { email: 'bob@example.org', name: 'Bob', admin: false },
  })
  const login = await fetch(`${url}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link_token: login_token }),
  })
  const { access_token } = (await login.json()) as { access_token: string }
  const { token } = await client.call('createServiceAccount', { body: { name: 'robot', scope: 'org' } })
  const call = (name: RouteName, bearer: string, prefix = '/v1'): Promise<Response> => {
    const { method, path } = ROUTES[name]
    return fetch(url + prefix + path.replace('{name}', 'assistant'), {
      method,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
    })
  }
  for (const name of [...writes, 'listChanges'] as const) {
    expect([name, (await call(name, access_token)).status]).toEqual([name, 403])
    expect([name, (await call(name, token)).status]).toEqual([name, 403])
    expect([name, (await call(name, token, '/v1/api')).status >= 400]).toEqual([name, true])
  }
  const bob = createClient({ baseUrl: url, token: access_token })
  expect((await bob.call('listAgents', {})).items.map(({ name }) => name)).toContain('assistant')
  expect((await client.call('listChanges', {})).changes).toEqual([])
})

test('a member does not read the credentials in an address', async () => {
  const service = await startService(makePlace())
  const { client, url } = service
  await client.call('publishMcpServer', {
    params: { name: 'notes' },
    body: { base_version: 0, settings: { url: 'https://notes.example/mcp?token=marker-in-address' } },
  })
  const { login_token } = await client.call('createUser', {
    body: { email: 'bob@example.org', name: 'Bob', admin: false },
  })
  const login = await fetch(`${url}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link_token: login_token }),
  })
  const { access_token } = (await login.json()) as { access_token: string }
  const bob = createClient({ baseUrl: url, token: access_token })
  const params = { name: 'notes' }
  const read = [
    await bob.call('listMcpServers', {}),
    await bob.call('getMcpServer', { params }),
    await bob.call('mcpServerVersions', { params }),
  ]
  expect(JSON.stringify(read)).not.toContain('marker-in-address')
  expect(JSON.stringify(await client.call('getMcpServer', { params }))).toContain('marker-in-address')
})

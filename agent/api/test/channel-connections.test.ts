/** Channel connections over HTTP: permissions, rejected settings, and no secret in any answer. */
import { join } from 'node:path'
import { createSealing } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { startService } from './service.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const LIST = '/v1/admin/channels'
const wish = (name: string) => ({
  name,
  settings: { platform: 'webhook', callback_url: 'https://example.org/cairn' },
  secrets: { secret: SECRET },
})
const named = {
  hook: { platform: 'webhook', secret_env: 'HOOK', callback_url: 'https://example.org/cairn' },
} as const
async function start() {
  const service = await startService({
    config: { channels: named },
    connections: {
      sealing: createSealing({
        file: join('none', 'secrets.key'),
        key: Buffer.alloc(32, 1).toString('base64'),
      }),
      urlProblem: url => (url.includes('inside') ? 'leads inside' : null),
    },
  })
  const act = (method: string, path: string, body?: object, token?: string) =>
    service.call(LIST + path, {
      method,
      ...(body === undefined ? {} : { body }),
      ...(token === undefined ? {} : { token }),
    })
  return { service, act }
}

/** Promise 5.1: An administrator sees and changes only connections of their own organisation. */
test('only administrators of the own organisation create and change connections', async () => {
  const { service, act } = await start()
  await using _service = service
  const foreign = await service.addUser(undefined, { admin: true, org_id: service.addOrganisation() })
  const made = await act('POST', '', wish('support'))
  expect(made).toMatchObject({
    status: 201,
    json: {
      name: 'support',
      origin: 'page',
      state: 'connecting',
      secrets: ['secret'],
      settings: wish('').settings,
    },
  })
  const path = `/${made.json.id}`
  const tries = [
    ['GET', path],
    ['PATCH', path, { secrets: { secret: SECRET } }],
    ['DELETE', path],
    ['POST', `${path}/enable`],
    ['POST', `${path}/disable`],
    ['POST', `${path}/test`, { to: 'C1' }],
    ['GET', `${path}/deliveries/k`],
  ] as const
  const before = await service.store.channels.getConnection(made.json.id)
  for (const [method, at, body] of tries)
    expect([at, (await act(method, at, body, foreign.token)).status]).toEqual([at, 404])
  expect(await service.store.channels.getConnection(made.json.id)).toEqual(before)

  expect((await act('POST', `${path}/disable`)).status).toBe(204)
  expect((await act('POST', `${path}/test`, { to: 'C1' })).json.code).toBe('wrong_state')
  expect((await act('POST', `${path}/enable`)).status).toBe(204)
  const { delivery_id } = (await act('POST', `${path}/test`, { to: 'C1' })).json
  expect((await act('GET', `${path}/deliveries/${delivery_id}`)).json).toMatchObject({
    state: 'planned',
    session_id: null,
  })
  const settings = { ...wish('').settings, callback_url: 'https://example.org/other' }
  const changed = await act('PATCH', path, { settings })
  expect(changed.json).toMatchObject({ settings, secrets: ['secret'] })
  const answers = [made, changed, await act('GET', path), await act('GET', ''), await act('GET', '-forms')]
  expect(answers.map(({ text }) => text.includes(SECRET.slice(6, 20)))).toEqual(answers.map(() => false))
  expect(JSON.stringify(service.logged)).not.toContain(SECRET.slice(6, 20))
  expect((await act('DELETE', path)).status).toBe(204)
  expect((await act('GET', path)).status).toBe(404)
})

test('invalid settings are rejected with the fix, and a connection of cairn.yaml cannot be changed here', async () => {
  const { service, act } = await start()
  await using _service = service
  const refused = async (change: object): Promise<[string, string]> => {
    const { json } = await act('POST', '', { ...wish('x'), ...change })
    return [json.code, json.detail]
  }
  expect(await refused({ secrets: {} })).toEqual(['invalid_body', expect.stringContaining('secret: ')])
  expect(await refused({ settings: { ...wish('').settings, secret_env: 'HOME' }, secrets: {} })).toEqual([
    'invalid_body',
    expect.stringContaining('only in cairn.yaml'),
  ])
  const inside = { ...wish('').settings, callback_url: 'https://inside.example.org/' }
  expect(await refused({ settings: inside })).toEqual(['invalid_body', 'callback_url: leads inside'])
  expect(await refused({ settings: { ...wish('').settings, agent: 'nobody' } })).toEqual([
    'unknown_agent',
    expect.stringContaining('assistant'),
  ])
  expect((await act('GET', '')).json.channels).toEqual([])

  const { org_id } = service.admin
  const configured = { id: 'hook', org_id, name: 'hook', platform: 'webhook', service_account_id: 'a' }
  await service.store.channels.putConnection(configured)
  for (const [method, body] of [['PATCH', {}], ['DELETE']] as const) {
    const { json } = await act(method, '/hook', body)
    expect([json.code, json.detail]).toEqual(['wrong_state', expect.stringContaining('change it there')])
  }
})

/** Promise 15.4: A connection removed from cairn.yaml is reported and can be deleted. */
test('a connection removed from cairn.yaml is marked as removed, is disabled and can be deleted', async () => {
  const { service, act } = await start()
  await using _service = service
  const { org_id } = service.admin
  for (const name of ['hook', 'old']) {
    const row = { id: name, org_id, name, platform: 'webhook', service_account_id: 'a' }
    await service.store.channels.putConnection(row)
    await service.store.channels.setConnection(name, 'live', null)
  }
  expect((await act('GET', '')).json.channels).toMatchObject([
    { name: 'hook', removed: false, state: 'live' },
    { name: 'old', removed: true, state: 'disabled' },
  ])
  expect((await act('PATCH', '/old', {})).json.code).toBe('wrong_state')
  expect((await act('DELETE', '/old')).status).toBe(204)
  expect((await act('GET', '')).json.channels).toMatchObject([{ name: 'hook' }])
})

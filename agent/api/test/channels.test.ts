/** Linked accounts, connections and failed deliveries over HTTP. */
import { expect, test } from 'vitest'
import { startService } from './service.ts'

test('a user gets a link code, lists and deletes their own links, and cannot reach links of others', async () => {
  await using service = await startService()
  const { user, token } = await service.addUser()
  const { token: other } = await service.addUser()
  const made = await service.call('/v1/channel-links', { method: 'POST', token })
  expect(made).toMatchObject({
    status: 201,
    json: { code: expect.stringMatching(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/) },
  })
  expect(Date.parse(made.json.expires_at) - service.now()).toBe(600_000)
  const where = { org_id: user.org_id, platform: 'webhook', workspace: 'w', platform_user_id: 'U1' }
  await service.store.channels.putIdentity({ id: 'link_1', ...where, user_id: user.id })
  const links = async (by: string) => (await service.call('/v1/channel-links', { token: by })).json.links
  expect(await links(token)).toMatchObject([{ id: 'link_1', platform: 'webhook', platform_user_id: 'U1' }])
  expect(await links(other)).toEqual([])
  const end = (by: string) => service.call('/v1/channel-links/link_1', { method: 'DELETE', token: by })
  expect((await end(other)).status).toBe(404)
  expect((await end(token)).status).toBe(204)
  expect(await links(token)).toEqual([])
  const account = await service.addServiceAccount()
  expect((await service.call('/v1/channel-links', { method: 'POST', token: account.token })).status).toBe(403)
})

test('an administrator sees connections and failed deliveries of their own organisation only', async () => {
  const callback_url = 'https://example.org/cairn'
  const hook = { platform: 'webhook', secret_env: 'HOOK', callback_url } as const
  await using service = await startService({ config: { channels: { hook } } })
  const { channels } = service.store
  const { org_id } = service.admin
  const connection = { id: 'hook', org_id, name: 'hook', platform: 'webhook', service_account_id: 'a' }
  await channels.putConnection(connection)
  await channels.setConnection('hook', 'degraded', 'the callback answered 400')
  const epoch = await channels.acquire('hook', 'deliver', 'me', 30_000)
  const fence = { connection_id: 'hook', epoch: epoch! }
  const session_id = await service.newSession()
  const id = { session_id, event_id: 3, part: 0 }
  await channels.beginDelivery({ ...id, key: 'k' }, fence)
  await channels.settleDelivery(id, { state: 'dead', error: 'the callback answered 400' }, fence)

  const dead = '/v1/admin/channels/hook/deliveries'
  expect((await service.call('/v1/admin/channels')).json.channels).toMatchObject([
    { name: 'hook', state: 'degraded', webhook_path: '/v1/channels/hook/webhook' },
  ])
  expect((await service.call(dead)).json.deliveries).toMatchObject([
    { session_id, event_id: 3, state: 'dead', attempts: 1, possible_duplicate: false },
  ])
  expect((await service.call(`${dead}?state=sent`)).json.deliveries).toEqual([])
  const act = (path: string, by?: string, body?: object) =>
    service.call(`/v1/admin/channels/hook/${path}`, {
      method: 'POST',
      ...(by === undefined ? {} : { token: by }),
      ...(body === undefined ? {} : { body }),
    })
  const foreign = await service.addUser(undefined, { admin: true, org_id: service.addOrganisation() })
  for (const what of ['retry', 'drop']) {
    expect((await act(`deliveries/k/${what}`, foreign.token)).status).toBe(404)
    expect((await act(`deliveries/other/${what}`)).status).toBe(404)
  }
  expect((await act('deliveries/k/retry')).status).toBe(204)
  expect(await channels.dueRedos('hook', 10)).toMatchObject([{ key: 'k', state: 'waiting' }])
  expect((await service.call('/v1/admin/channels')).json.channels).toMatchObject([{ dead_letters: 0 }])
  await channels.beginDelivery({ ...id, key: 'k' }, fence)
  await channels.settleDelivery(id, { state: 'dead', error: 'the callback answered 400' }, fence)
  await channels.endRedo(id, fence)
  await channels.seeSender('hook', 'U1', 'Ann')
  const block = { verdict: 'blocked' }
  expect((await act('senders/U1/verdict', foreign.token, block)).status).toBe(404)
  expect((await act('senders/U2/verdict', undefined, block)).status).toBe(404)
  expect((await act('senders/U1/verdict', undefined, block)).status).toBe(204)
  expect((await service.call('/v1/admin/channels/hook/senders')).json.senders).toMatchObject([
    { platform_user_id: 'U1', name: 'Ann', verdict: 'blocked' },
  ])
  const { token } = await service.addUser()
  expect((await service.call(dead, { token })).status).toBe(403)
  const stranger = await service.addUser(undefined, { admin: true, org_id: service.addOrganisation() })
  expect((await service.call(dead, { token: stranger.token })).status).toBe(404)
  expect((await service.call('/v1/admin/channels', { token: stranger.token })).json.channels).toEqual([])
})

/**
 * Promise 14.7: With `require_confirm` a person accepts the disclosure before their first message is
 * accepted.
 */
test('with require_confirm a message is accepted only after the disclosure is confirmed', async () => {
  await using service = await startService({
    config: { disclosure: { level: 'basic', require_confirm: true } },
  })
  const id = await service.newSession()
  const say = (path: string, token?: string) =>
    service.call(`${path}/sessions/${id}/messages`, {
      method: 'POST',
      body: { content: 'hello' },
      ...(token === undefined ? {} : { token }),
    })
  expect(await say('/v1')).toMatchObject({ status: 409, json: { code: 'disclosure_required' } })
  const { token } = await service.addServiceAccount({ scope: 'org' })
  expect((await say('/v1/api', token)).status).toBe(202)
  await service.call(`/v1/sessions/${id}/confirm-disclosure`, { method: 'POST' })
  expect((await say('/v1')).status).toBe(202)
})

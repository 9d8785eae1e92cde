/** Contract 3.8, 5.3: the routes that accept a service account token. */
import { expect, test } from 'vitest'
import { startService } from './service.ts'
import { openStream } from './stream.ts'

/** Promise 5.3: A service account can read the stream below `/v1/api`. */
test('a service account can read the stream below /v1/api/', async () => {
  await using service = await startService()
  const { token } = await service.addServiceAccount()
  const id = await service.newSession(token, '/v1/api/sessions')
  const sent = await service.call(`/v1/api/sessions/${id}/messages`, {
    method: 'POST',
    token,
    body: { content: 'hello' },
  })
  expect(sent.status).toBe(202)
  const stream = await openStream(service, `/v1/api/sessions/${id}/events`, { token })
  expect(stream.status).toBe(200)
  await stream.until(({ ids }) => ids().length === 1)
  stream.close()
})

/** Promise 3.8: A service account cannot poll, and `/v1/api` has no poll route. */
test('rejects a service account token on the poll route, which has no alias', async () => {
  await using service = await startService()
  const { token } = await service.addServiceAccount()
  const id = await service.newSession(token, '/v1/api/sessions')
  const poll = await service.call(`/v1/sessions/${id}/events/poll`, { token })
  expect([poll.status, poll.json.code]).toEqual([403, 'user_token_required'])
  for (const who of [token, service.adminToken])
    expect((await service.call(`/v1/api/sessions/${id}/events/poll`, { token: who })).status).toBe(404)
})

/** Promise 5.3: A service token is rejected outside `/v1/api`. */
test('rejects a service account token outside /v1/api/', async () => {
  await using service = await startService()
  const { token } = await service.addServiceAccount()
  const id = await service.newSession(token, '/v1/api/sessions')
  for (const path of [
    '/v1/sessions',
    `/v1/sessions/${id}`,
    `/v1/sessions/${id}/events`,
    '/v1/inbox',
    '/v1/auth/me',
    '/v1/admin/users',
  ]) {
    const { status, json } = await service.call(path, { token })
    expect([path, status, json.code]).toEqual([path, 403, 'service_account_route'])
  }
  expect((await service.call('/v1/api/admin/users', { token })).status).toBe(404)
})

test('a user token also works below /v1/api/', async () => {
  await using service = await startService()
  const { token } = await service.addUser()
  const id = await service.newSession(token)
  expect((await service.call(`/v1/api/sessions/${id}`, { token })).json.id).toBe(id)
})

test('revoking an account ends its requests and its open streams at once', async () => {
  await using service = await startService()
  const made = await service.call('/v1/admin/service-accounts', { method: 'POST', body: { name: 'robot' } })
  expect(made.status).toBe(201)
  const { token, id: accountId } = made.json
  expect(token).toMatch(/^cairn_sk_[A-Za-z0-9_-]{43}$/)
  const id = await service.newSession(token, '/v1/api/sessions')
  const stream = await openStream(service, `/v1/api/sessions/${id}/events`, { token })
  await stream.until(({ text }) => text().includes(': connected'))
  expect((await service.call(`/v1/admin/service-accounts/${accountId}`, { method: 'DELETE' })).status).toBe(
    204,
  )
  expect((await stream.ended).clean).toBe(true)
  expect((await service.call('/v1/api/sessions', { token })).status).toBe(401)
  expect((await service.call(`/v1/admin/service-accounts/${accountId}`, { method: 'DELETE' })).status).toBe(
    404,
  )
})

test('an expired account is rejected, and a token is shown once and stored as a hash', async () => {
  await using service = await startService()
  const { json } = await service.call('/v1/admin/service-accounts', {
    method: 'POST',
    body: { name: 'brief', expires_in_days: 1 },
  })
  expect((await service.call('/v1/api/sessions', { token: json.token })).status).toBe(200)
  const listed = await service.call('/v1/admin/service-accounts')
  expect(listed.json.service_accounts).toHaveLength(1)
  expect(listed.text).not.toContain(json.token)
  expect(json.token.startsWith(listed.json.service_accounts[0].token_prefix)).toBe(true)
  service.advance(25 * 3_600_000)
  const late = await service.call('/v1/api/sessions', { token: json.token })
  expect([late.status, late.json.code]).toEqual([401, 'token_expired'])
})

test('an account sees its own sessions, and with the scope org those of the organisation', async () => {
  await using service = await startService()
  const own = await service.addServiceAccount()
  const org = await service.addServiceAccount({ scope: 'org' })
  const id = await service.newSession()
  expect((await service.call(`/v1/api/sessions/${id}`, { token: own.token })).status).toBe(404)
  expect((await service.call(`/v1/api/sessions/${id}`, { token: org.token })).status).toBe(200)
  expect((await service.call('/v1/api/sessions', { token: own.token })).json.sessions).toEqual([])
  expect((await service.call('/v1/api/sessions', { token: org.token })).json.sessions).toHaveLength(1)
})

test('the name of an active service account is rejected, and free again after revocation or expiry', async () => {
  await using service = await startService()
  const make = () =>
    service.call('/v1/admin/service-accounts', {
      method: 'POST',
      body: { name: 'robot', expires_in_days: 1 },
    })
  const first = await make()
  const second = await make()
  expect([second.status, second.json.code, second.json.errors[0].path]).toEqual([409, 'wrong_state', 'name'])
  await service.call(`/v1/admin/service-accounts/${first.json.id}`, { method: 'DELETE' })
  expect((await make()).status).toBe(201)
  service.advance(25 * 3_600_000)
  expect((await make()).status).toBe(401)
  expect(
    (
      await service.call('/v1/admin/service-accounts', {
        method: 'POST',
        body: { name: 'robot' },
        token: await service.mintAdmin(),
      })
    ).status,
  ).toBe(201)
})

/** Contract 5: the cookie of the web UI, and its protection against other sites. */
import { afterAll, expect, test } from 'vitest'
import { createLoginLink } from '../src/index.ts'
import { startService, type Service } from './service.ts'

/** For tests that leave no state behind. */
const shared = await startService()
afterAll(() => shared[Symbol.asyncDispose]())

async function logIn(service: Service): Promise<{ cookie: string; line: string; text: string }> {
  const link_token = await createLoginLink(service.store, service.admin.id, service.now())
  const { status, headers, text } = await service.call('/v1/auth/login', {
    method: 'POST',
    token: null,
    body: { link_token, cookie: true },
  })
  expect(status).toBe(200)
  const line = headers.get('set-cookie') ?? ''
  return { cookie: line.split(';')[0] ?? '', line, text }
}
const csrf = { 'x-cairn-csrf': '1' }

test('a cookie login sets an HttpOnly, SameSite=Strict cookie and returns no token', async () => {
  await using service = await startService()
  const { line, text } = await logIn(service)
  expect(line).toMatch(/^cairn_session=[^;]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
  expect(text).toBe('{}')
})

test('the cookie is Secure behind https', async () => {
  await using service = await startService()
  const link_token = await createLoginLink(service.store, service.admin.id, service.now())
  const { headers } = await service.call('/v1/auth/login', {
    method: 'POST',
    token: null,
    body: { link_token, cookie: true },
    headers: { 'x-forwarded-proto': 'https' },
  })
  expect(headers.get('set-cookie')).toMatch(/; Secure$/)
})

test('the cookie may read, and may write only with the CSRF header and from the same origin', async () => {
  await using service = await startService()
  const { cookie } = await logIn(service)
  const write = (headers: Record<string, string>) =>
    service.call('/v1/sessions', { method: 'POST', token: null, body: {}, headers: { cookie, ...headers } })
  expect((await service.call('/v1/auth/me', { token: null, headers: { cookie } })).json.id).toBe(
    service.admin.id,
  )
  for (const headers of [
    {},
    { 'x-cairn-csrf': '0' },
    { ...csrf, origin: 'https://evil.example' },
    { ...csrf, origin: 'null' },
    { ...csrf, origin: `http://127.0.0.1:${service.port + 1}` },
  ]) {
    const { status, json } = await write(headers)
    expect([headers, status, json.code]).toEqual([headers, 403, 'csrf'])
  }
  expect((await write(csrf)).status).toBe(201)
  expect((await write({ ...csrf, origin: service.url })).status).toBe(201)
})

test('logging out ends the cookie login at once', async () => {
  await using service = await startService()
  const { cookie } = await logIn(service)
  const out = await service.call('/v1/auth/logout', {
    method: 'POST',
    token: null,
    headers: { cookie, ...csrf },
  })
  expect([out.status, out.headers.get('set-cookie')]).toEqual([
    204,
    'cairn_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
  ])
  expect((await service.call('/v1/auth/me', { token: null, headers: { cookie } })).status).toBe(401)
})

test('use extends a cookie login, and a week without use ends it', async () => {
  await using service = await startService()
  const { cookie } = await logIn(service)
  service.advance(5 * 86_400_000)
  const used = await service.call('/v1/auth/me', { token: null, headers: { cookie } })
  expect([used.status, used.headers.get('set-cookie')]).toEqual([
    200,
    `${cookie}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict`,
  ])
  service.advance(6 * 86_400_000)
  expect((await service.call('/v1/auth/me', { token: null, headers: { cookie } })).status).toBe(200)
  service.advance(7.1 * 86_400_000)
  expect((await service.call('/v1/auth/me', { token: null, headers: { cookie } })).status).toBe(401)
})

test('refreshing by cookie confirms the login and returns no token', async () => {
  await using service = await startService()
  const { cookie } = await logIn(service)
  const { status, text } = await service.call('/v1/auth/refresh', {
    method: 'POST',
    token: null,
    body: {},
    headers: { cookie, ...csrf },
  })
  expect([status, text]).toEqual([200, '{}'])
  expect(
    (await service.call('/v1/auth/refresh', { method: 'POST', token: null, body: {}, headers: { cookie } }))
      .json.code,
  ).toBe('csrf')
  expect((await service.call('/v1/auth/refresh', { method: 'POST', token: null, body: {} })).status).toBe(401)
})

test.each([
  'cairn_session=x',
  'cairn_session=',
  'cairn_session=..',
  'other=1',
  `cairn_session=${'a'.repeat(5000)}`,
])('rejects the invalid cookie %.40s', async cookie => {
  expect((await shared.call('/v1/auth/me', { token: null, headers: { cookie } })).status).toBe(401)
})

/** Contract 5: links, passwords, tokens and their rotation. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createLoginLink, hashPassword, mintUserToken } from '../src/index.ts'
import { startService, type Service } from './service.ts'

/** For tests that leave no state behind. */
const shared = await startService()
afterAll(() => shared[Symbol.asyncDispose]())

const logIn = (service: Service, body: unknown) =>
  service.call('/v1/auth/login', { method: 'POST', token: null, body })
const refresh = (service: Service, refresh_token: string) =>
  service.call('/v1/auth/refresh', { method: 'POST', token: null, body: { refresh_token } })
const link = (service: Service) => createLoginLink(service.store, service.admin.id, service.now())

test('a login link works once and expires', async () => {
  await using service = await startService()
  const link_token = await link(service)
  const first = await logIn(service, { link_token })
  expect(first.json).toMatchObject({ token_type: 'bearer', expires_in: 1800 })
  expect((await service.call('/v1/auth/me', { token: first.json.access_token })).json).toMatchObject({
    kind: 'user',
    admin: true,
    email: 'admin@example.org',
  })
  expect((await logIn(service, { link_token })).status).toBe(401)
  const late = await link(service)
  service.advance(25 * 3_600_000)
  expect((await logIn(service, { link_token: late })).status).toBe(401)
})

/** Promise 5.2: A refresh token works once, and a second use ends the login. */
test('a refresh token works once, and a second use ends the login', async () => {
  await using service = await startService()
  const { json: first } = await logIn(service, { link_token: await link(service) })
  const { json: second, status } = await refresh(service, first.refresh_token)
  expect(status).toBe(200)
  expect(second.refresh_token).not.toBe(first.refresh_token)
  expect((await service.call('/v1/auth/me', { token: second.access_token })).status).toBe(200)
  expect((await refresh(service, first.refresh_token)).status).toBe(401)
  expect((await refresh(service, second.refresh_token)).status).toBe(401)
  service.advance(1_100)
  expect((await service.call('/v1/auth/me', { token: second.access_token })).status).toBe(401)
})

/** Promise 5.2: A refresh token that was never issued ends no login. */
test('a wrong secret for a login id is rejected without effect, and a used refresh token ends the login', async () => {
  await using service = await startService()
  const { json: first } = await logIn(service, { link_token: await link(service) })
  const [prefixed = '', secret = ''] = String(first.refresh_token).split('.')
  const loginId = prefixed.replace(/^cairn_rt_/, '')
  // Every access token contains the login id, so anyone who sees one can try this.
  const claims = JSON.parse(Buffer.from(first.access_token.split('.')[1], 'base64url').toString())
  expect(claims.sid).toBe(loginId)
  const other = (await logIn(service, { link_token: await link(service) })).json.refresh_token.split('.')[1]
  for (const guess of ['', 'x', 'A'.repeat(43), randomBytes(32).toString('base64url'), other])
    for (const id of [prefixed, loginId]) expect((await refresh(service, `${id}.${guess}`)).status).toBe(401)
  // It is also valid without its prefix, as older releases issued it.
  const { json: second, status } = await refresh(service, `${loginId}.${secret}`)
  expect(status).toBe(200)
  const { json: third } = await refresh(service, second.refresh_token)
  // Two rotations old, and still recognized.
  expect((await refresh(service, first.refresh_token)).status).toBe(401)
  expect((await refresh(service, third.refresh_token)).status).toBe(401)
})

test.each([
  ['', 'the file is empty'],
  ['{"kty":"OKP","crv":"Ed25519","d":"', 'the file is not JSON'],
  ['{"kty":"RSA","n":"AQAB"}', 'the file is not a private key'],
  ['{"kty":"OKP","crv":"Ed25519","d":"AAAA","x":"AAAA"}', 'the key cannot be used'],
])('a key file that contains %j is reported with its problem and the fix', async (text, problem) => {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-key-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const file = join(dir, 'auth-key.json')
  await writeFile(file, text)
  const failed = mintUserToken({ dataDir: dir, userId: 'u', now: 0 })
  await expect(failed).rejects.toThrow(`${file} contains no valid signing key: ${problem}`)
  await expect(failed).rejects.toThrow(/Restore it from a backup. Or move it away/)
  // The file is unchanged: it may be all that is left of a key.
  expect(await readFile(file, 'utf8')).toBe(text)
})

test('access tokens expire after half an hour and refresh tokens after a week, and logout ends both', async () => {
  await using service = await startService()
  const { json } = await logIn(service, { link_token: await link(service) })
  service.advance(31 * 60_000)
  expect((await service.call('/v1/auth/me', { token: json.access_token })).json.code).toBe('token_expired')
  const { json: again } = await refresh(service, json.refresh_token)
  expect((await service.call('/v1/auth/logout', { method: 'POST', token: again.access_token })).status).toBe(
    204,
  )
  expect((await service.call('/v1/auth/me', { token: again.access_token })).status).toBe(401)
  expect((await refresh(service, again.refresh_token)).status).toBe(401)
  const { json: idle } = await logIn(service, { link_token: await link(service) })
  service.advance(7 * 86_400_000)
  expect((await refresh(service, idle.refresh_token)).status).toBe(401)
})

test('the password logs in, another one does not, and the store contains a hash', async () => {
  await using service = await startService()
  expect(
    (await service.call('/v1/auth/password', { method: 'POST', body: { password: 'short' } })).status,
  ).toBe(422)
  expect(
    (await service.call('/v1/auth/password', { method: 'POST', body: { password: 'correct horse battery' } }))
      .status,
  ).toBe(204)
  expect((await service.store.accounts.getUser(service.admin.id))?.password_hash).toMatch(
    /^scrypt\$32768\$8\$1\$/,
  )
  expect(
    (await logIn(service, { email: 'admin@example.org', password: 'correct horse battery' })).status,
  ).toBe(200)
  const wrong = await logIn(service, { email: 'admin@example.org', password: 'correct horse' })
  const nobody = await logIn(service, { email: 'nobody@example.org', password: 'correct horse' })
  expect([wrong.status, nobody.status, nobody.json.detail]).toEqual([401, 401, wrong.json.detail])
})

/** Promise 5.8: A new password ends all other logins of the user. */
test('a new password ends every other login and unused link of its user', async () => {
  await using service = await startService()
  const mine = (await logIn(service, { link_token: await link(service) })).json
  const thief = (await logIn(service, { link_token: await link(service) })).json
  const unused = await link(service)
  expect(
    (
      await service.call('/v1/auth/password', {
        method: 'POST',
        token: mine.access_token,
        body: { password: 'correct horse battery' },
      })
    ).status,
  ).toBe(204)
  expect((await service.call('/v1/auth/me', { token: thief.access_token })).status).toBe(401)
  expect((await refresh(service, thief.refresh_token)).status).toBe(401)
  expect((await logIn(service, { link_token: unused })).status).toBe(401)
  expect((await service.call('/v1/auth/me', { token: mine.access_token })).status).toBe(200)
  expect((await refresh(service, mine.refresh_token)).status).toBe(200)
})

/** Promise 5.8: A new password requires the current one or a login link. */
test('a new password requires the current one, or a new login link if it is forgotten', async () => {
  await using service = await startService()
  const set = (body: object) => service.call('/v1/auth/password', { method: 'POST', body })
  const first = 'correct horse battery'
  expect((await set({ password: first })).status).toBe(204)
  const without = await set({ password: 'stolen token password' })
  expect([without.status, without.json.errors[0].path]).toEqual([422, 'current_password'])
  for (const current_password of ['', 'wrong', first.toUpperCase()])
    expect((await set({ password: 'stolen token password', current_password })).json.errors).toEqual([
      { path: 'current_password', message: 'is wrong' },
    ])
  const isGood = async (password: string) =>
    (await logIn(service, { email: 'admin@example.org', password })).status === 200
  expect(await isGood(first)).toBe(true)
  expect((await set({ password: 'a second password', current_password: first })).status).toBe(204)
  expect([await isGood(first), await isGood('a second password')]).toEqual([false, true])

  const other = await createLoginLink(service.store, (await service.addUser()).user.id, service.now())
  expect((await set({ password: 'a third password', link_token: other })).status).toBe(422)
  const link_token = await link(service)
  expect((await set({ password: 'a third password', link_token })).status).toBe(204)
  expect(await isGood('a third password')).toBe(true)
  expect((await set({ password: 'a fourth password', link_token })).status).toBe(422)
})

test('guesses of the current password with a stolen token are rate-limited like logins', async () => {
  await using service = await startService()
  await service.store.accounts.setPassword(service.admin.id, await hashPassword('correct horse battery'))
  const guess = (current_password: string) =>
    service.call('/v1/auth/password', {
      method: 'POST',
      body: { password: 'new password', current_password },
    })
  for (let n = 0; n < 5; n++) expect((await guess('wrong')).status).toBe(422)
  expect((await guess('correct horse battery')).status).toBe(429)
})

/** Promise 5.8: A new login link revokes the user's older ones. */
test('a new login link revokes older links of its user only', async () => {
  await using service = await startService()
  const { user } = await service.addUser()
  const others = await createLoginLink(service.store, user.id, service.now())
  const older = await link(service)
  const newer = await link(service)
  expect((await logIn(service, { link_token: older })).status).toBe(401)
  expect((await logIn(service, { link_token: newer })).status).toBe(200)
  expect((await logIn(service, { link_token: others })).status).toBe(200)
})

test('of concurrent requests that create the same user, one succeeds and the others return 409', async () => {
  await using service = await startService()
  const make = () =>
    service.call('/v1/admin/users', { method: 'POST', body: { email: 'twice@example.org', name: 'Twice' } })
  const answers = await Promise.all([make(), make(), make()])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409])
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('rate-limits password guesses by email address and client address, and a success resets the count', async () => {
  await using service = await startService()
  await service.store.accounts.setPassword(service.admin.id, await hashPassword('correct horse battery'))
  const guess = (password: string) => logIn(service, { email: 'Admin@example.org', password })
  for (let n = 0; n < 5; n++) expect((await guess('wrong guess')).status).toBe(401)
  const slowed = await guess('correct horse battery')
  expect([slowed.status, slowed.json.code, slowed.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '2',
  ])
  expect((await logIn(service, { email: 'other@example.org', password: 'x' })).status).toBe(401)
  service.advance(2_100)
  expect(
    (await logIn(service, { email: 'admin@example.org', password: 'correct horse battery' })).status,
  ).toBe(200)
  expect((await guess('wrong again')).status).toBe(401)
})

/** Promise 5: No header bypasses the rate limit of password guesses. */
test('rate-limits password guesses by the forwarded address only behind a trusted proxy', async () => {
  const guessAs = (service: Service, address: string) =>
    service.call('/v1/auth/login', {
      method: 'POST',
      token: null,
      body: { email: 'admin@example.org', password: 'wrong guess' },
      headers: { 'x-forwarded-for': address },
    })
  for (const [trusted_proxies, expected] of [
    [['127.0.0.1'], 401],
    [[], 429],
  ] as const) {
    await using service = await startService({ config: { auth: { trusted_proxies: [...trusted_proxies] } } })
    for (let n = 0; n < 5; n++) expect((await guessAs(service, '198.51.100.1')).status).toBe(401)
    expect((await guessAs(service, '198.51.100.1')).status).toBe(429)
    expect((await guessAs(service, '198.51.100.2')).status).toBe(expected)
  }
})

test('disabling a user rejects their tokens and links at once', async () => {
  await using service = await startService()
  const made = await service.call('/v1/admin/users', {
    method: 'POST',
    body: { email: 'new@example.org', name: 'New' },
  })
  expect(made.json).toMatchObject({ email: 'new@example.org', admin: false, disabled_at: null })
  const { json } = await logIn(service, { link_token: made.json.login_token })
  expect(
    (
      await service.call('/v1/admin/users', {
        method: 'POST',
        body: { email: 'NEW@example.org', name: 'Again' },
      })
    ).status,
  ).toBe(409)
  expect((await service.call(`/v1/admin/users/${made.json.id}`, { method: 'DELETE' })).status).toBe(204)
  expect((await service.call('/v1/auth/me', { token: json.access_token })).status).toBe(401)
  expect((await refresh(service, json.refresh_token)).status).toBe(401)
  expect(
    (await logIn(service, { link_token: await createLoginLink(service.store, made.json.id, service.now()) }))
      .status,
  ).toBe(401)
  expect((await service.call(`/v1/admin/users/${service.admin.id}`, { method: 'DELETE' })).json.code).toBe(
    'wrong_target',
  )
})

test('the signing key is created once with owner-only access, and tokens minted outside the server are valid', async () => {
  await using service = await startService()
  const file = join(service.dir, 'auth-key.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const before = await readFile(file, 'utf8')
  const token = await mintUserToken({ dataDir: service.dir, userId: service.admin.id, now: service.now() })
  expect(await readFile(file, 'utf8')).toBe(before)
  expect((await service.call('/v1/auth/me', { token })).status).toBe(200)
})

test.each([
  '',
  'x',
  'a.b.c',
  'cairn_sk_',
  `cairn_sk_${'A'.repeat(43)}`,
  'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
])('rejects the bearer token %s', async token => {
  for (const path of ['/v1/auth/me', '/v1/api/auth/me'])
    expect((await shared.call(path, { token })).status).toBe(401)
})

test('a token that was changed or signed by another key is rejected', async () => {
  await using service = await startService()
  await using other = await startService()
  const foreign = await mintUserToken({ dataDir: other.dir, userId: service.admin.id, now: service.now() })
  const [head, , signature] = service.adminToken.split('.')
  const claims = JSON.stringify({ sub: service.admin.id, iss: 'cairn', aud: 'cairn', exp: 9e9 })
  const forged = `${head}.${Buffer.from(claims).toString('base64url')}.${signature}`
  for (const token of [foreign, forged])
    expect((await service.call('/v1/auth/me', { token })).status).toBe(401)
})

test('an administrator creates a login link for a user, but not for a disabled one', async () => {
  await using service = await startService()
  const { user } = await service.addUser()
  const path = `/v1/admin/users/${user.id}/login-links`
  const made = await service.call(path, { method: 'POST' })
  expect(made.status).toBe(201)
  const login = await logIn(service, { link_token: made.json.login_token })
  expect((await service.call('/v1/auth/me', { token: login.json.access_token })).json.id).toBe(user.id)
  await service.call(`/v1/admin/users/${user.id}`, { method: 'DELETE' })
  expect((await service.call(path, { method: 'POST' })).json.code).toBe('wrong_target')
})

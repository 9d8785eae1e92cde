/** Contract 5: tokens of the operator's identity provider. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import { expect, test } from 'vitest'
import { startService } from './service.ts'

async function startProvider() {
  const keys = await generateKeyPair('ES256', { extractable: true })
  const other = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
  const server = createServer((req, res) =>
    res.end(
      JSON.stringify(
        req.url?.endsWith('openid-configuration') ? { jwks_uri: `${issuer}/keys` } : { keys: [jwk] },
      ),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sign = (
    claims: JWTPayload,
    { key = keys.privateKey, audience = 'cairn-tests', expires = '5m' } = {},
  ) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime(expires)
      .sign(key)
  return {
    issuer,
    sign,
    foreign: other.privateKey,
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('a token of the issuer authenticates the user with its verified email address', async () => {
  await using provider = await startProvider()
  await using service = await startService({
    config: { auth: { issuer: provider.issuer, audience: 'cairn-tests' } },
  })
  const email = 'admin@example.org'
  const me = (token: string) => service.call('/v1/auth/me', { token })
  expect((await me(await provider.sign({ email }))).json).toMatchObject({ id: service.admin.id, admin: true })
  for (const token of [
    await provider.sign({ email: 'stranger@example.org' }),
    await provider.sign({}),
    await provider.sign({ email, email_verified: false }),
    await provider.sign({ email }, { audience: 'another-service' }),
    await provider.sign({ email }, { key: provider.foreign }),
    await provider.sign({ email }, { expires: '-1m' }),
  ])
    expect((await me(token)).status).toBe(401)
  expect((await me(service.adminToken)).status).toBe(200)
})

test('an issuer without an audience fails the start', async () => {
  await expect(startService({ config: { auth: { issuer: 'https://issuer.example' } } })).rejects.toThrow(
    'auth.issuer needs auth.audience',
  )
})

test.each(['openid-configuration', 'keys'])(
  'an endless response of the issuer is cut off: %s',
  async which => {
    let sent = 0
    const server = createServer((request, response) => {
      if (request.url?.endsWith(which) !== true) {
        response.end(JSON.stringify({ jwks_uri: `${issuer}/keys` }))
        return
      }
      response.write('{"x":"')
      const more = (): void => {
        while (sent < 200_000_000 && response.write('x'.repeat(65_536))) sent += 65_536
        sent += 65_536
      }
      response.on('drain', more)
      more()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { privateKey } = await generateKeyPair('ES256')
    const token = await new SignJWT({ email: 'admin@example.org' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(issuer)
      .setAudience('cairn-tests')
      .setExpirationTime('5m')
      .sign(privateKey)
    await using service = await startService({ config: { auth: { issuer, audience: 'cairn-tests' } } })
    expect((await service.call('/v1/auth/me', { token })).status).toBeGreaterThanOrEqual(400)
    expect(sent).toBeLessThan(16_000_000)
    server.closeAllConnections()
    server.close()
  },
)

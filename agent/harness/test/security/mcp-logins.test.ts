/** Attacks on logins at MCP servers: other issuers, used states, foreign persons, and addresses that a server names. */
import { expect, test } from 'vitest'
import {
  ann,
  authorize,
  bob,
  logIn,
  newSealing,
  ownerOf,
  type Service,
  startGuarded,
  startService,
} from '../mcp/guarded-server.ts'
import { memoryAccounts } from '../mcp/account-store.ts'

async function preparedNames({ mcp }: Service): Promise<string[]> {
  await mcp.prepare(ownerOf(ann), new AbortController().signal)
  return mcp.tools(ownerOf(ann)).map(({ name }) => name)
}

test.each([
  ['another issuer', 'https://evil.example.org'],
  ['no issuer, which the server promised', null],
])('a callback with %s is refused before its code is sent anywhere', async (_, iss) => {
  const guarded = await startGuarded()
  guarded.rules.iss = iss
  const { logins } = startService(guarded)
  await expect(logIn({ logins }, ann)).rejects.toMatchObject({ code: 'wrong_state' })
  expect(guarded.asked).not.toContain('POST /token')
})

test('the words of a refusal by another issuer are not shown', async () => {
  const guarded = await startGuarded()
  const { logins } = startService(guarded)
  const callback = await authorize(logins, ann)
  const forged = new URLSearchParams({
    state: callback.get('state') ?? '',
    error: 'call_555',
    iss: 'https://evil.example.org',
  })
  await expect(logins.complete(forged, ann)).rejects.not.toThrow(/call_555/)
})

test('a state is used once, in time, by the person who began, and a forged one is unknown', async () => {
  const guarded = await startGuarded()
  let now = Date.now()
  const clock = { now: () => now, monotonic: () => now, after: () => () => undefined }
  const { logins } = startService(guarded, { clock, store: memoryAccounts(() => now) })
  const callback = await authorize(logins, ann)
  const unknown = {
    code: 'wrong_state',
    message: expect.stringMatching(/unknown, was used already, or has expired/),
  }
  await expect(logins.complete(callback, bob)).rejects.toMatchObject(unknown)
  await expect(logins.complete(callback, { ...ann, org_id: 'other' })).rejects.toMatchObject(unknown)
  await expect(
    logins.complete(new URLSearchParams({ state: 'forged', code: 'x' }), ann),
  ).rejects.toMatchObject(unknown)
  expect(guarded.forms).toEqual([])
  await logins.complete(callback, ann)
  await expect(logins.complete(callback, ann)).rejects.toMatchObject(unknown)
  const late = await authorize(logins, ann)
  now += 10 * 60_000
  await expect(logins.complete(late, ann)).rejects.toMatchObject(unknown)
})

test.each([
  ['cloud metadata', 'http://169.254.169.254'],
  ['a private address', 'https://10.0.0.1'],
  ['another port of this machine', 'http://127.0.0.1:9'],
  ['plain http', 'http://as.example.org'],
])('an authorization server at %s is not contacted', async (_, origin) => {
  const guarded = await startGuarded()
  guarded.rules.authorization_servers = [origin]
  const { logins } = startService(guarded)
  await expect(logins.begin('x', ann)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringMatching(/neither https nor|is not public/),
  })
  expect(guarded.asked).toEqual([])
})

test('a redirect of the token endpoint is not followed, so the code stays at its server', async () => {
  const [guarded, evil] = [await startGuarded(), await startGuarded()]
  guarded.rules.token = (_, response) => {
    response.writeHead(307, { location: `${evil.issuer}/token` }).end()
    return true
  }
  const { logins } = startService(guarded, { oauth: { internal: ['127.0.0.1'] } })
  await expect(logIn({ logins }, ann)).rejects.toMatchObject({ code: 'wrong_state' })
  expect(evil.asked).toEqual([])
})

test('after the server has moved to another authorization server, that one sees no refresh token and no client', async () => {
  const [guarded, next] = [await startGuarded(), await startGuarded()]
  const service = startService(guarded, { oauth: { internal: ['127.0.0.1'] } })
  await logIn(service, ann)
  guarded.rules.authorization_servers = [next.issuer]
  guarded.valid.clear()
  await expect.poll(() => preparedNames(service)).toEqual(['mcp__x__authorize'])
  expect(next.forms).toEqual([])
  await logIn(service, ann)
  expect(next.asked).toContain('POST /register')
})

test('a token is not sent to another address, whatever the configuration or a redirect names', async () => {
  const [guarded, other] = [await startGuarded(), await startGuarded()]
  const shared = { store: memoryAccounts(), sealing: newSealing(), oauth: { internal: ['127.0.0.1'] } }
  await logIn(startService(guarded, shared), ann)
  const moved = startService(other, shared)
  await expect.poll(() => preparedNames(moved)).toEqual(['mcp__x__authorize'])
  expect(new Set(other.bearers)).toEqual(new Set([null]))
})

test("a sealed account that was moved to another person's row cannot be opened", async () => {
  const guarded = await startGuarded()
  const { logins, store } = startService(guarded)
  await logIn({ logins }, ann)
  const [row] = store.rows()
  if (row === undefined) throw new Error('the account is not kept')
  const { sealed, issuer, scope, connected_at } = row
  await store.keep({ org_id: 'org', server: 'x', owner_id: 'bob' }, null, {
    sealed,
    issuer,
    scope,
    connected_at,
  })
  expect(await logins.authFor('x', ownerOf(bob)).token()).toBeUndefined()
  expect(await logins.authFor('x', ownerOf(ann)).token()).toMatch(/^access-/)
})

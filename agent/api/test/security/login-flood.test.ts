/**
 * Hundreds of made-up logins, from one address and from many (contract 4.4): a valid login succeeds after a
 * bounded number of others, or is rejected at once with a retry time; and trying one password with many email
 * addresses is rate-limited like trying many with one. Counted in hashes, which are the cost, and not in
 * time.
 */
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { hashPassword } from '../../src/index.ts'
import { type Answer, type Service, startService } from '../service.ts'

const PASSWORD = 'correct horse battery'
const COUNT = rounds(200, 400)
/** Hashes that run at the arrival, and one turn of each waiting address. */
const MAX_BEFORE = 8

/** Callers choose their address: the test takes the role of the operator's proxy. */
const startBehindProxy = async (): Promise<Service> => {
  const service = await startService({ config: { auth: { trusted_proxies: ['127.0.0.1'] } } })
  await service.store.accounts.setPassword(service.admin.id, await hashPassword(PASSWORD))
  return service
}
const logInFrom = (service: Service, address: string, email: string, password = 'a guess'): Promise<Answer> =>
  service.call('/v1/auth/login', {
    method: 'POST',
    token: null,
    body: { email, password },
    headers: { 'x-forwarded-for': address },
  })
const logIn = (service: Service, address: string): Promise<Answer> =>
  logInFrom(service, address, 'admin@example.org', PASSWORD)

/** Made-up logins in progress, and how many of them cost a hash so far. */
function flood(service: Service, addressOf: (n: number) => string) {
  const seen = { hashed: 0, refused: 0, other: 0 }
  const all = Array.from({ length: COUNT }, async (_, n) => {
    const { status, headers } = await logInFrom(service, addressOf(n), `nobody${n}@example.org`)
    if (status === 401) seen.hashed++
    else if (status === 429 && Number(headers.get('retry-after')) >= 1) seen.refused++
    else seen.other++
  })
  return { seen, over: Promise.all(all) }
}

/**
 * Promise 4.4: A login flood delays other logins by a bounded time, and excess logins are rejected at once.
 */
test('a login flood from one address is queued up to a limit, and a login from elsewhere gets its turn', async () => {
  await using service = await startBehindProxy()
  const { seen, over } = flood(service, () => '198.51.100.1')
  // The first rejection: the queue of that address is full, and most of its requests are still to come.
  await expect.poll(() => seen.refused).toBeGreaterThan(0)
  const before = seen.hashed
  const { status } = await logIn(service, '198.51.100.2')
  const between = seen.hashed - before
  await over
  tally('logins in a flood', COUNT + 1, seen.other + (status === 200 && between <= MAX_BEFORE ? 0 : 1))
  expect([status, between <= MAX_BEFORE]).toEqual([200, true])
  expect(seen.hashed).toBeLessThanOrEqual(30)
  expect(seen.hashed + seen.refused).toBe(COUNT)
})

test('a flood from many addresses is queued up to a limit, and an address with an earlier login goes first', async () => {
  await using service = await startBehindProxy()
  expect((await logIn(service, '203.0.113.7')).status).toBe(200)
  const { seen, over } = flood(service, n => `198.51.${n >> 8}.${n & 255}`)
  await expect.poll(() => seen.refused).toBeGreaterThan(0)
  const before = seen.hashed
  const { status } = await logIn(service, '203.0.113.7')
  const between = seen.hashed - before
  await over
  tally('logins in a flood', COUNT + 1, seen.other + (status === 200 && between <= MAX_BEFORE ? 0 : 1))
  expect([status, between <= MAX_BEFORE]).toEqual([200, true])
  expect(seen.hashed + seen.refused).toBe(COUNT)
  // After the flood a new address can log in as well.
  expect((await logIn(service, '203.0.113.8')).status).toBe(200)
})

/** Promise 4.4: Trying one password with many email addresses is rate limited. */
test('rate-limits one password tried with many email addresses, whichever address of its network it uses', async () => {
  await using service = await startBehindProxy()
  const statuses: number[] = []
  for (let n = 0; n < 40; n++)
    statuses.push((await logInFrom(service, `2001:db8:1:2::${n}`, `person${n}@example.org`)).status)
  const checked = statuses.filter(status => status === 401).length
  tally('logins in a flood', 40, Math.abs(checked - 30))
  expect(checked).toBe(30)
  expect(statuses.slice(30).every(status => status === 429)).toBe(true)
  // One more every ten seconds.
  service.advance(10_000)
  expect((await logInFrom(service, '2001:db8:1:2::1', 'x@example.org')).status).toBe(401)
  expect((await logInFrom(service, '2001:db8:1:2::1', 'y@example.org')).status).toBe(429)
  expect((await logInFrom(service, '2001:db8:1:3::1', 'z@example.org')).status).toBe(401)
})

test('failures of others do not lock out a user who logged in from that address before', async () => {
  await using service = await startBehindProxy()
  expect((await logIn(service, '198.51.100.1')).status).toBe(200)
  for (let n = 0; n < 31; n++) await logInFrom(service, '198.51.100.1', `person${n}@example.org`)
  expect((await logInFrom(service, '198.51.100.1', 'one.more@example.org')).status).toBe(429)
  expect((await logIn(service, '198.51.100.1')).status).toBe(200)
})

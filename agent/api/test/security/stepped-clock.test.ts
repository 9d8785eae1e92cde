/**
 * The clock of the machine is set: time synchronisation after a wrong start, a machine without a battery, a
 * resumed snapshot. No user is locked out, and no limit is lifted (contract 4.4).
 */
import { expect, test } from 'vitest'
import { CLOCK_STEPS_MS } from '@cairn/protocol/test/clock-steps'
import { tally } from '@cairn/protocol/test/attacks'
import { hashPassword } from '../../src/index.ts'
import { startService, type Service } from '../service.ts'
import { openStream } from '../stream.ts'

const PASSWORD = 'correct horse battery'
const logIn = (service: Service, password: string, email = 'admin@example.org') =>
  service.call('/v1/auth/login', { method: 'POST', token: null, body: { email, password } })

/** Promise 4.4: Setting the clock locks out no user and lifts no rate limit. */
test.each(CLOCK_STEPS_MS)('setting the clock by %d ms locks no user out', async step => {
  await using service = await startService({
    config: { limits: { requests_per_minute: 60 } },
    tuning: { heartbeatMs: 60, tickMs: 20 },
  })
  await service.store.accounts.setPassword(service.admin.id, await hashPassword(PASSWORD))
  const machine = await service.addServiceAccount()
  const ask = async () => (await service.call('/v1/api/auth/me', { token: machine.token })).status
  const id = await service.newSession(machine.token, '/v1/api/sessions')
  const stream = await openStream(service, `/v1/api/sessions/${id}/events`, { token: machine.token })
  for (let n = 0; n < 20; n++) expect(await ask()).toBe(200)

  service.step(step)
  const answers = [await ask(), (await logIn(service, PASSWORD)).status]
  // Requests before the step still count, and no more than those.
  let taken = 1
  while ((await ask()) === 200) taken++
  expect(taken).toBeLessThanOrEqual(40)
  service.advance(2_000)
  answers.push(await ask())
  service.step(-step)
  service.advance(2_000)
  answers.push(await ask(), (await logIn(service, PASSWORD)).status)
  tally('clock set back and forth', answers.length, answers.filter(status => status !== 200).length)
  expect(answers).toEqual(answers.map(() => 200))

  // An open stream continues with heartbeats and new events.
  const beats = () => stream.text().split(': keep-alive').length
  const before = beats()
  await stream.until(() => beats() > before)
  service.advance(60_000)
  await service.say(id, 'still here')
  await stream.until(({ ids }) => ids().length === 1)
  stream.close()
})

test.each(CLOCK_STEPS_MS)('password guesses stay rate-limited when the clock is set by %d ms', async step => {
  await using service = await startService()
  await service.store.accounts.setPassword(service.admin.id, await hashPassword(PASSWORD))
  for (let n = 0; n < 5; n++) expect((await logIn(service, 'wrong guess')).status).toBe(401)
  service.step(step)
  const slowed = await logIn(service, PASSWORD)
  tally('clock set back and forth', 1, slowed.status === 429 ? 0 : 1)
  expect([slowed.status, slowed.headers.get('retry-after')]).toEqual([429, '2'])
  service.advance(2_100)
  expect((await logIn(service, PASSWORD)).status).toBe(200)
})

test.each(CLOCK_STEPS_MS)(
  'a revocation by another process takes effect within a second when the clock is set by %d ms',
  async step => {
    await using service = await startService()
    const machine = await service.addServiceAccount()
    const ask = async () => (await service.call('/v1/api/auth/me', { token: machine.token })).status
    expect(await ask()).toBe(200)
    await service.store.accounts.revokeServiceAccount(service.admin.org_id, machine.id, service.now())
    service.step(step)
    service.advance(1_100)
    expect(await ask()).toBe(401)
  },
)

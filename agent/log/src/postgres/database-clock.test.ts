import { expect, test } from 'vitest'
import { createDatabaseClock } from './database-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** A database and this machine: time passes for both, and either clock may be set. */
function setUp() {
  const time = { passed: 0, database: Date.UTC(2026, 0, 1), machine: Date.UTC(2026, 0, 1) + 7_000 }
  let asked = 0
  const clock = createDatabaseClock(
    async () => {
      asked++
      return time.database + time.passed
    },
    () => undefined,
    { now: () => time.machine + time.passed, monotonic: () => time.passed },
  )
  return { time, clock, asked: () => asked, date: () => time.database + time.passed }
}

test.each([-10 * MINUTE, 3 * HOUR, -3 * HOUR, -20 * 365 * 24 * HOUR, 20 * 365 * 24 * HOUR])(
  'dates stay those of the database when the clock of this machine is set by %d ms',
  async step => {
    const { time, clock, asked, date } = setUp()
    const now = await clock
    expect(now()).toBe(date())
    time.machine += step
    time.passed += 500
    expect(now()).toBe(date())
    await expect.poll(asked).toBe(2)
    time.passed += MINUTE
    expect(now()).toBe(date())
    // Once is enough.
    expect(asked()).toBe(2)
  },
)

test('a machine that slept gets the dates of the database again after the next query', async () => {
  const { time, clock, date } = setUp()
  const now = await clock
  // The monotonic clock stands still meanwhile.
  time.machine += HOUR
  time.database += HOUR
  now()
  await expect.poll(() => now() - date()).toBe(0)
})

test('a change of the database clock is followed within minutes', async () => {
  const { time, clock, date } = setUp()
  const now = await clock
  time.database -= HOUR
  time.passed += 6 * MINUTE
  now()
  await expect.poll(() => now() - date()).toBe(0)
})

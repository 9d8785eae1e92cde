import { expect, test } from 'vitest'
import { fakeClock } from '../../../test/turn/fake-clock.ts'
import { createThrottle } from './throttle.ts'

test('runs at once, then once for all triggers of a pause, and doubles each pause up to a minute', async () => {
  const clock = fakeClock()
  let runs = 0
  const task = createThrottle(clock, () => {
    runs += 1
    return Promise.resolve()
  })
  task.trigger()
  expect(runs).toBe(1)
  for (const [round, pause] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].entries()) {
    for (let count = 0; count < 100; count += 1) task.trigger()
    await clock.waitsFor(pause)
    clock.advance(pause - 1)
    expect(runs).toBe(round + 1)
    clock.advance(1)
    expect(runs).toBe(round + 2)
  }
})

test('a pause without a trigger resets the backoff, and nothing runs after stop', async () => {
  const clock = fakeClock()
  let runs = 0
  const task = createThrottle(clock, () => {
    runs += 1
    return Promise.resolve()
  })
  task.trigger()
  await clock.waitsFor(1000)
  task.trigger()
  clock.advance(1000)
  await clock.waitsFor(2000)
  clock.advance(2000)
  task.trigger()
  expect(runs).toBe(3)
  await clock.waitsFor(1000)
  task.trigger()
  task.stop()
  clock.advance(100_000)
  task.trigger()
  expect(runs).toBe(3)
})

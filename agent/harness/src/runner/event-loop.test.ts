import { expect, test } from 'vitest'
import type { Clock } from '@cairn/models/clock'
import { waitUntilFree, monitorEventLoop } from './claims.ts'

/** An event loop whose active and idle times the test sets. */
function fakeLoop() {
  let active = 0
  let idle = 0
  const eventLoopUtilization: typeof performance.eventLoopUtilization = since => {
    const ran = active - (since?.active ?? 0)
    const waited = idle - (since?.idle ?? 0)
    return { active: ran, idle: waited, utilization: ran + waited === 0 ? 0 : ran / (ran + waited) }
  }
  return {
    loop: { now: () => active + idle, eventLoopUtilization },
    pass(ran: number, waited: number) {
      active += ran
      idle += waited
    },
  }
}

test('a loop that was active for three quarters of the time since the last check is busy', () => {
  const { loop, pass } = fakeLoop()
  const isBusy = monitorEventLoop(loop)
  pass(14, 26)
  expect(isBusy()).toBe(false)
  pass(16, 4)
  expect(isBusy()).toBe(true)
  pass(0, 10)
  expect(isBusy(), 'ten milliseconds say nothing').toBe(true)
  pass(5, 15)
  expect(isBusy()).toBe(false)
})

test('monitors the event loop of this process', () => {
  expect(monitorEventLoop()()).toBe(false)
})

const after = (onWait: (ms: number) => void): Clock => ({
  now: () => 0,
  monotonic: () => 0,
  after(ms, run) {
    onWait(ms)
    queueMicrotask(run)
    return () => undefined
  },
})

test('deferred work waits until the loop is free, for a limited time', async () => {
  const never = new AbortController().signal
  const waits: number[] = []
  const clock = after(ms => waits.push(ms))
  await waitUntilFree(clock, () => false, never)
  expect(waits).toEqual([])
  await waitUntilFree(clock, () => waits.length < 3, never)
  expect(waits).toEqual([250, 250, 250])
  await waitUntilFree(clock, () => true, never)
  expect(waits.length - 3).toBe(40)
  const stop = new AbortController()
  const stopped = waitUntilFree(
    after(() => stop.abort(new Error('over'))),
    () => true,
    stop.signal,
  )
  await expect(stopped).rejects.toThrow('over')
})

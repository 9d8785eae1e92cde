import { expect, test } from 'vitest'
import type { Clock } from './clock.ts'
import { watchSilence } from './silence.ts'

/** Timers moved by hand: `to` advances the time and runs what is due. */
function handClock(): Clock & { to(ms: number): void } {
  let now = 0
  const timers = new Set<{ at: number; run: () => void }>()
  return {
    // The watch does not use dates.
    now: () => Number.NaN,
    monotonic: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    to(ms) {
      for (;;) {
        const [next] = [...timers].filter(timer => timer.at <= ms).toSorted((a, b) => a.at - b.at)
        if (!next) break
        timers.delete(next)
        now = next.at
        next.run()
      }
      now = ms
    },
  }
}

function watched() {
  const clock = handClock()
  const heard: string[] = []
  const watch = watchSilence({
    clock,
    heartbeatMs: 15,
    staleMs: 40,
    onHeartbeat: ms => heard.push(`beat ${ms}`),
    onStale: error => heard.push(error.category),
  })
  return { clock, heard, watch }
}

test('sends heartbeats while no text arrives, and times out without signs of life', () => {
  const { clock, heard } = watched()
  clock.to(200)
  expect(heard).toEqual(['beat 15', 'beat 30', 'timeout'])
})

test('signs of life without text keep the call alive and the heartbeats coming', () => {
  const { clock, heard, watch } = watched()
  for (const at of [30, 60, 90]) {
    clock.to(at)
    watch.alive()
  }
  expect(heard).toEqual(['beat 15', 'beat 30', 'beat 45', 'beat 60', 'beat 75', 'beat 90'])
})

test('text restarts the heartbeat interval, and nothing is sent after the end', () => {
  const { clock, heard, watch } = watched()
  clock.to(10)
  watch.shown()
  clock.to(24)
  expect(heard).toEqual([])
  clock.to(25)
  expect(heard).toEqual(['beat 15'])
  watch.stop()
  clock.to(500)
  expect(heard).toEqual(['beat 15'])
})

import type { Clock } from '@cairn/models/clock'

/** A clock that a test turns by hand. Timers run in the order they are due. */
export type FakeClock = Clock & {
  advance(ms: number): void
  /** Somebody sets the clock: dates jump, and no time passes. */
  step(ms: number): void
  /** Resolves once a timer of exactly this length waits. */
  waitsFor(ms: number): Promise<void>
}

export function fakeClock(start = Date.now()): FakeClock {
  let now = start
  let set = 0
  const timers = new Set<{ at: number; ms: number; run: () => void }>()
  const expecting = new Set<{ ms: number; resolve: () => void }>()
  return {
    now: () => now + set,
    monotonic: () => now,
    after(ms, run) {
      const timer = { at: now + ms, ms, run }
      timers.add(timer)
      for (const wait of expecting) {
        if (wait.ms !== ms) continue
        expecting.delete(wait)
        wait.resolve()
      }
      return () => void timers.delete(timer)
    },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter(timer => timer.at <= end).toSorted((a, b) => a.at - b.at)
        if (!next) break
        timers.delete(next)
        now = Math.max(now, next.at)
        next.run()
      }
      now = end
    },
    step(ms) {
      set += ms
    },
    waitsFor(ms) {
      if ([...timers].some(timer => timer.ms === ms)) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      expecting.add({ ms, resolve })
      return promise
    },
  }
}

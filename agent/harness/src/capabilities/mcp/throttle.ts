/** Runs work that the other side requests, at a rate that this side controls. */
import type { Clock } from '@cairn/models/clock'

const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000

export type Throttle = {
  trigger(): void
  /** Runs triggered work that has not run yet; resolves when all of it has run. */
  settle(): Promise<void>
  stop(): void
}

/**
 * Runs `task` immediately for the first trigger, and never concurrently. Triggers during a run or the pause
 * after it cause one later run; while they keep coming, each pause is twice as long as the one before.
 */
export function createThrottle(clock: Clock, task: () => Promise<void>): Throttle {
  let state: 'idle' | 'busy' | 'stopped' = 'idle'
  let isDue = false
  let pauseMs = FIRST_PAUSE_MS
  let cancel = (): void => {}
  let running = Promise.resolve()
  async function run(): Promise<void> {
    state = 'busy'
    isDue = false
    running = task()
    await running
    if (isStopped()) return
    cancel = clock.after(pauseMs, () => {
      state = 'idle'
      pauseMs = isDue ? Math.min(pauseMs * 2, MAX_PAUSE_MS) : FIRST_PAUSE_MS
      if (isDue) void run()
    })
  }
  const isStopped = (): boolean => state === 'stopped'
  return {
    trigger() {
      if (state === 'busy') isDue = true
      else if (state === 'idle') void run()
    },
    async settle() {
      await running
      if (!isDue || isStopped()) return
      // The pause continues, because it delays only background triggers.
      isDue = false
      running = task()
      await running
    },
    stop() {
      state = 'stopped'
      cancel()
    },
  }
}

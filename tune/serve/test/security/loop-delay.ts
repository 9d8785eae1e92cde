/**
 * Measures how long this thread blocks the event loop, which is the longest time that another request waits.
 * Uses processor time, which does not depend on other programs.
 */
import { setImmediate } from 'node:timers/promises'

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Returns the longest block during `run`, and its result. */
export async function measureLoopDelay<T>(run: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const over = new AbortController()
  let max = 0
  async function watch(): Promise<void> {
    for (let before = cpuMs(); !over.signal.aborted;) {
      await setImmediate()
      const now = cpuMs()
      max = Math.max(max, now - before)
      before = now
    }
  }
  const watching = watch()
  try {
    return { value: await run(), ms: max }
  } finally {
    over.abort()
    await watching
  }
}

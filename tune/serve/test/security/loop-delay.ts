/**
 * How long this thread works without a turn of the event loop: the longest time that any other request waits
 * for it. In processor time, which does not depend on what else the machine does.
 */
import { setImmediate } from 'node:timers/promises'

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The longest turn while `run` works, and what that gives. */
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

/** The dependencies of a runner that runs coding agents. */
import type { Clock } from '@cairn/models/clock'
import type { CodingAgents } from './agent-process.ts'

export type Coding = { agents: CodingAgents; semaphore: Semaphore }

/** Maximum time that a run waits for a place among those of its runner. */
const MAX_QUEUE_MS = 10 * 60_000

export const createCoding = (agents: CodingAgents, clock: Clock, maxRuns: number): Coding => ({
  agents,
  semaphore: createSemaphore(clock, maxRuns, MAX_QUEUE_MS),
})

/** Limits the concurrent runs of a runner; the others wait in order of arrival. */
export type Semaphore = {
  /**
   * Resolves with a function that releases the place; null: none was free in time. Rejects when the signal
   * aborts.
   */
  take(signal: AbortSignal): Promise<(() => void) | null>
  /** Number of places in use. */
  taken(): number
}

function createSemaphore(clock: Clock, max: number, maxWaitMs: number): Semaphore {
  let free = max
  const line: (() => void)[] = []

  const give = (): void => {
    const next = line.shift()
    if (next === undefined) free += 1
    else next()
  }

  return {
    taken: () => max - free,
    async take(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free -= 1
        return once(give)
      }
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      const mine = (): void => resolve(true)
      const leave = (end: () => void) => (): void => {
        const at = line.indexOf(mine)
        if (at === -1) return
        line.splice(at, 1)
        end()
      }
      line.push(mine)
      const cancel = clock.after(
        maxWaitMs,
        leave(() => resolve(false)),
      )
      const abort = leave(() => reject(signal.reason as Error))
      signal.addEventListener('abort', abort, { once: true })
      try {
        return (await promise) ? once(give) : null
      } finally {
        cancel()
        signal.removeEventListener('abort', abort)
      }
    },
  }
}

function once(give: () => void): () => void {
  let given = false
  return () => {
    if (given) return
    given = true
    give()
  }
}

/**
 * The hand-over of a browser between its agent and a person: while a person drives no call runs, and a person
 * who takes over waits for the call that runs, or ends it.
 */
import type { Clock } from '../clock.ts'
import { createMutex } from '../mutex.ts'

/** So long a person who takes over waits for the call that runs. */
const YIELD_MS = 5_000

export class HeldByPerson extends Error {}

export type Gate = {
  /** Who drives: a user's id; null: the agent. */
  holder: string | null
  /** Runs a call when those before it are over; rejects with `HeldByPerson` where a person drives. */
  pass<T>(run: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Resolves when no call runs; one that takes longer is ended. Calls are refused while `holder` is set. */
  quiet(): Promise<void>
}

export function createGate(clock: Clock): Gate {
  /** One call at a time: what only reads may be asked for in parallel, and the page is one. */
  const turn = createMutex()
  const running = new Set<{ done: Promise<unknown>; abort: AbortController }>()
  const gate: Gate = {
    holder: null,
    async pass(run, signal) {
      if (gate.holder !== null) throw new HeldByPerson('a person has control of the browser')
      const abort = new AbortController()
      const either = AbortSignal.any([signal, abort.signal])
      const done = turn(() => {
        // It waited for another call, and somebody took over in the meantime.
        either.throwIfAborted()
        return run(either)
      })
      const call = { done, abort }
      running.add(call)
      try {
        return await done
      } catch (error) {
        if (abort.signal.aborted) throw new HeldByPerson('a person took control of the browser')
        throw error
      } finally {
        running.delete(call)
      }
    },
    async quiet() {
      const calls = [...running]
      const cancel = clock.after(YIELD_MS, () => calls.forEach(({ abort }) => abort.abort()))
      // How each ended is its caller's to tell.
      await Promise.allSettled(calls.map(({ done }) => done))
      cancel()
    },
  }
  return gate
}

/**
 * Hands a browser over between its agent and a person: while a person is in control no call runs, and a
 * person who takes over waits for the running call or ends it.
 */
import type { Clock } from '@cairn/models/clock'
import { createMutex } from '../../mutex.ts'

/** Maximum time that a person who takes over waits for the running call. */
const YIELD_MS = 5_000

export class HeldByPerson extends Error {}

export type Gate = {
  /** The user who is in control; null: the agent. */
  holder: string | null
  /** Runs a call after the previous ones; rejects with `HeldByPerson` while a person is in control. */
  pass<T>(run: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Resolves when no call runs; ends one that takes too long. Calls are refused while `holder` is set. */
  quiet(): Promise<void>
}

export function createGate(clock: Clock): Gate {
  /** One call at a time: read-only calls may be requested in parallel, but they share the page. */
  const turn = createMutex()
  const running = new Set<{ done: Promise<unknown>; abort: AbortController }>()
  const gate: Gate = {
    holder: null,
    async pass(run, signal) {
      if (gate.holder !== null) throw new HeldByPerson('a person has control of the browser')
      const abort = new AbortController()
      const either = AbortSignal.any([signal, abort.signal])
      const done = turn(() => {
        // It waited for another call, and a person took over in the meantime.
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
      // The caller of each reports how it ended.
      await Promise.allSettled(calls.map(({ done }) => done))
      cancel()
    },
  }
  return gate
}

/** Time as a dependency, so that tests advance it instead of waiting. */
export type Clock = {
  /** Epoch milliseconds, for dates. This clock may be set at any time, backwards or by years. */
  now(): number
  /** Milliseconds of a monotonic clock, for durations and limits: only differences are meaningful. */
  monotonic(): number
  /** Calls `run` once after `ms`, unless the returned function was called before. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Waits; rejects with the signal's reason when it aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error)
      return
    }
    const abort = (): void => {
      cancel()
      reject(signal.reason as Error)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}

/** Calls `run` repeatedly, each time `ms` after the last one ended; returns a function that stops it. */
export function every(clock: Clock, ms: number, run: () => Promise<void> | void): () => void {
  let stopped = false
  let cancel: (() => void) | undefined
  const next = (): void => {
    cancel = clock.after(ms, () => {
      void (async () => {
        try {
          await run()
        } finally {
          if (!stopped) next()
        }
      })()
    })
  }
  next()
  return () => {
    stopped = true
    cancel?.()
  }
}

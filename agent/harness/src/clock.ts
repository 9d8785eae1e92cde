/** Time as an argument, so that a test advances it by hand instead of waiting. */
export type Clock = {
  /** Epoch milliseconds, for dates: somebody may set this clock at any moment, back or by years. */
  now(): number
  /** Milliseconds of a clock that nobody sets, for durations and limits: only differences mean anything. */
  monotonic(): number
  /** Calls `run` once, `ms` from now, unless the returned function was called before. */
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

/** Waits; rejects with the signal's reason as soon as it aborts. */
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

/** Calls `run` again and again, each time `ms` after the last one ended; returns how to stop. */
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

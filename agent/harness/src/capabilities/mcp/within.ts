import type { Clock } from '@cairn/models/clock'

/** The promise, or an error after `ms`: for work whose duration the other side controls. */
export async function within<T>(clock: Clock, ms: number, what: string, running: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const cancel = clock.after(ms, () => late.reject(new Error(`${what} took longer than ${ms / 1000} s`)))
  // An error after the timeout must not count as unhandled.
  running.catch(() => undefined)
  try {
    return await Promise.race([running, late.promise])
  } finally {
    cancel()
  }
}

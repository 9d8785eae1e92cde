/** The right to act for one session while it lasts; everything in a turn depends on its signal. */
import type { Fence } from '@cairn/log'

/**
 * The lease was taken by a pause, a stop, an archive or another runner. Not an error: the turn ends silently.
 */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}
/** The runner shuts down and this turn did not reach a resting point in time; another runner continues. */
export class Draining extends Error {
  override readonly name = 'Draining'
}

export type Lease = {
  session_id: string
  fence: Fence
  /** Aborts when the lease is lost or the drain timeout is over. */
  signal: AbortSignal
  end(reason: LeaseLost | Draining): void
}

export function holdLease(session_id: string, fence: Fence): Lease {
  const controller = new AbortController()
  return { session_id, fence, signal: controller.signal, end: reason => controller.abort(reason) }
}

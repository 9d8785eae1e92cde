/** The right to act for one session while it lasts; everything a turn does hangs on its signal. */
import type { Fence } from '@cairn/log'

/**
 * The lease went to someone else: a pause, a stop, an archive, another worker. Not an error: the turn ends
 * without a word.
 */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}
/** The worker shuts down and this turn did not reach a resting point in time; another worker goes on. */
export class Draining extends Error {
  override readonly name = 'Draining'
}

export type Lease = {
  session_id: string
  fence: Fence
  /** Aborts at once when the lease is lost or the drain is over. */
  signal: AbortSignal
  end(reason: LeaseLost | Draining): void
}

export function holdLease(session_id: string, fence: Fence): Lease {
  const controller = new AbortController()
  return { session_id, fence, signal: controller.signal, end: reason => controller.abort(reason) }
}

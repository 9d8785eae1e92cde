/** Whether a proxy should send anybody here. */
import type { LogStore } from '@cairn/log'
import { AppError, asError } from '@cairn/protocol'

/** Anybody may ask, and each try is a write to disk: however many ask, one is made in so long. */
const WRITE_EVERY_MS = 1_000

/** Throws what stands in the way. */
export type Readiness = () => Promise<void>

/**
 * A disk that is full refuses writes and serves reads: only a write tells. It is tried anew each time, so the
 * answer is yes again as soon as there is space.
 */
export function createReadiness(
  store: Pick<LogStore, 'listSessions' | 'probe'>,
  isLeaving: () => boolean,
): Readiness {
  let triedAt = -Infinity
  let tried: Promise<void> = Promise.resolve()

  function takesWrites(): Promise<void> {
    const at = performance.now()
    if (at - triedAt >= WRITE_EVERY_MS) {
      triedAt = at
      tried = store.probe()
    }
    return tried
  }

  return async () => {
    if (isLeaving()) throw new AppError('draining', 'The server is shutting down.')
    try {
      await store.listSessions({ org_id: '', limit: 1 })
      await takesWrites()
    } catch (cause) {
      throw new AppError(
        'storage',
        `The store does not answer or takes no writes: ${asError(cause).message}`,
        {
          cause,
        },
      )
    }
  }
}

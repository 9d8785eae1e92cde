/** Readiness: whether a load balancer should send requests here. */
import type { LogStore } from '@cairn/log'
import { AppError, asError } from '@cairn/protocol'

/** The probe is public and each check writes to disk, so at most one check runs per interval. */
const WRITE_EVERY_MS = 1_000

/** Throws the reason if the service is not ready. */
export type Readiness = () => Promise<void>

/**
 * A full disk serves reads and rejects writes, so only a write shows it. Each check writes again, so the
 * service is ready as soon as there is space.
 */
export function createReadiness(
  store: Pick<LogStore, 'sessions' | 'probe'>,
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
      await store.sessions.list({ org_id: '', limit: 1 })
      await takesWrites()
    } catch (error) {
      throw new AppError(
        'storage',
        `The store does not respond or rejects writes: ${asError(error).message}`,
        {
          cause: error,
        },
      )
    }
  }
}

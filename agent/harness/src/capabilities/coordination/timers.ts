/** Fires due timers of all sessions: any runner may claim and fire them, because a timer acts once. */
import { asError } from '@cairn/protocol'
import { fireTimer } from '@cairn/sessions'
import type { RunnerDeps } from '../../runner-deps.ts'

const AT_ONCE = 50
/** Time to fire the claimed timers before another runner may claim them. */
const CLAIM_MS = 30_000

/** Fires the timers of a claim concurrently, so that their commits share a batch, until none is due. */
export async function fireTimers({
  store,
  id,
  clock,
  newId,
  logger,
  shutdown,
}: Pick<RunnerDeps, 'store' | 'id' | 'clock' | 'newId' | 'logger' | 'shutdown'>): Promise<void> {
  for (let claimed = AT_ONCE; claimed === AT_ONCE && !shutdown.aborted;) {
    const timers = await store.timers.claim(id, AT_ONCE, CLAIM_MS)
    claimed = timers.length
    await Promise.all(
      timers.map(async timer => {
        try {
          await fireTimer({ store, now: clock.now, newId }, timer)
        } catch (error) {
          // Do not delay the others; its claim expires, and it is fired again.
          logger('error', 'failed to fire a timer; it will be retried', {
            session_id: timer.session_id,
            error: asError(error).message,
          })
        }
      }),
    )
  }
}

/** Timers that are due, whoever set them: any worker may claim and fire them, for a timer acts once. */
import { asError } from '@cairn/protocol'
import { fireTimer } from '@cairn/sessions'
import type { Runner } from '../runner.ts'

const AT_ONCE = 50
/** So long one worker has to fire what it has claimed, before another may. */
const CLAIM_MS = 30_000

/** Those of a claim side by side, so that their commits share a batch; until nothing is due any more. */
export async function fireTimers({
  store,
  id,
  clock,
  newId,
  logger,
  shutdown,
}: Pick<Runner, 'store' | 'id' | 'clock' | 'newId' | 'logger' | 'shutdown'>): Promise<void> {
  for (let claimed = AT_ONCE; claimed === AT_ONCE && !shutdown.aborted;) {
    const timers = await store.coordination.claimTimers(id, AT_ONCE, CLAIM_MS)
    claimed = timers.length
    await Promise.all(
      timers.map(async timer => {
        try {
          await fireTimer({ store, now: clock.now, newId }, timer)
        } catch (error) {
          // The others need not wait for it; its claim runs out, and it is fired again.
          logger('error', 'a timer could not be fired; it is tried again', {
            session_id: timer.session_id,
            error: asError(error).message,
          })
        }
      }),
    )
  }
}

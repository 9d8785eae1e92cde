/** Recovers sessions that a crashed runner left behind (contract 8). The writer of harness.recovered. */
import type { Claim } from '@cairn/log'
import { writer } from '@cairn/protocol'
import type { Rest } from './turn/at-rest.ts'
import type { SessionLog } from './turn/session-log.ts'
import { failSession } from './run-session.ts'

const write = writer('sweeper')
/** Maximum recoveries without progress: such a session crashes its runners and is not retried. */
const MAX_RECOVERIES = 3

/**
 * Records the gap that a crashed runner left, before anything else happens, so that the count survives the
 * next crash. False if the session was abandoned instead. A rollback is never abandoned: each of its steps is
 * tried once, so it ends.
 */
export async function recoverSession(
  log: SessionLog,
  claim: Claim,
  rest: () => Promise<Rest>,
  mayGiveUp: boolean,
): Promise<boolean> {
  if (claim.abandoned_s === null) return true
  const { worker_id } = claim.fence
  const { recoveries } = log.position().turn
  if (mayGiveUp && recoveries >= MAX_RECOVERIES) {
    const given = await failSession(log, rest, 'recovery_loop', {
      error_category: 'recovery_loop',
      attempts: recoveries,
      retryable: false,
      error: `${recoveries} runners in a row died on this session without making progress.`,
    })
    if (given) return false
  }
  await log.append([
    write('harness.recovered', { recovered_by: worker_id, stale_seconds: claim.abandoned_s }),
  ])
  return true
}

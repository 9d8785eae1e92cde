/**
 * Runs a claimed session (contract 7, 8). The writer of harness.wake and harness.crash.
 *
 * The turn is resumed from the log until it rests. A runtime exception is recorded as harness.crash and
 * retried in place, under the same lease; the same one three times in a row fails the session. A lost lease
 * ends the turn silently.
 */
import type { Claim } from '@cairn/log'
import { AppError, asError, type EventData, type EventDraft, writer } from '@cairn/protocol'
import { sessionFailed } from '@cairn/sessions'
import { type Backoff, backoffMs } from '@cairn/models/backoff'
import { ConfigurationError } from './agent.ts'
import { sleep } from '@cairn/models/clock'
import type { Lease } from './lease.ts'
import { workspaceMask } from './tools/workspace-mask.ts'
import { cameMeanwhile, type Rest } from './turn/at-rest.ts'
import type { SessionLog } from './turn/session-log.ts'
import type { TurnContext } from './turn/context.ts'

const write = writer('wake')
/**
 * The same exception this many times in a row, without progress in between, is a loop; so are many different
 * ones.
 */
const SAME_CRASHES = 3
const MAX_CRASHES = 8
const CRASH_BACKOFF: Backoff = { baseMs: 500, maxMs: 10_000 }

/** The background review starts (contract 14.13): flags instead of the cursor. */
export const reviewStarted = (data: {
  worker_id: string
  review_memory: boolean
  review_skills: boolean
}): EventDraft<'harness.wake'> => write('harness.wake', data)

/** Resumes the turn until it rests, suspends, ends, or loses its lease. */
export async function runSession(
  claim: Claim,
  lease: Lease,
  log: SessionLog,
  context: Pick<TurnContext, 'clock' | 'random' | 'report' | 'workspace'> & { rest: () => Promise<Rest> },
  run: () => Promise<void>,
): Promise<void> {
  const { worker_id } = lease.fence
  log.startWith(write('harness.wake', { worker_id, cursor: claim.session.cursor }))
  for (;;) {
    try {
      await run()
      return
    } catch (thrown) {
      lease.signal.throwIfAborted()
      const error = asError(thrown)
      context.report('error', 'the turn crashed', { error: error.stack ?? error.message })
      if (error instanceof ConfigurationError) {
        if (
          await failSession(log, context.rest, 'configuration', {
            error_category: 'configuration',
            error: error.message,
            retryable: true,
          })
        )
          return
        continue
      }
      const crash = describeCrash(error, context.workspace)
      await log.append([write('harness.crash', { worker_id, ...crash })])
      const { crashes } = log.position().turn
      if (isCrashLoop(crashes)) {
        if (
          await failSession(log, context.rest, 'crash_loop_detected', {
            ...crash,
            error_category: 'crash_loop',
            retryable: false,
            attempts: crashes.length,
          })
        )
          return
        continue
      }
      await sleep(context.clock, backoffMs(CRASH_BACKOFF, crashes.length - 1, context.random()), lease.signal)
    }
  }
}

/**
 * Fails the session; false if a message arrived that deserves its own attempt. `rest`: what the capabilities
 * add when a session comes to rest.
 */
export async function failSession(
  log: SessionLog,
  rest: () => Promise<Rest>,
  reason: string,
  failure: Omit<EventData<'session.fail'>, 'reason'>,
): Promise<boolean> {
  try {
    const { events, rows } = await rest()
    await log.append([sessionFailed({ reason, ...failure }), ...events], {
      cursor: 'self',
      rows,
      release_lease: true,
      expect_no_work_after: log.position().last_id,
    })
    return true
  } catch (error) {
    if (!cameMeanwhile(error)) throw error
    await log.catchUp()
    return false
  }
}

function isCrashLoop(crashes: readonly string[]): boolean {
  const tail = crashes.slice(-SAME_CRASHES)
  return (
    crashes.length >= MAX_CRASHES || (tail.length === SAME_CRASHES && tail.every(error => error === tail[0]))
  )
}

const describeCrash = (error: Error, workspace: string): Omit<EventData<'harness.crash'>, 'worker_id'> => ({
  error_category: error instanceof AppError && error.code === 'storage' ? 'storage_error' : 'internal',
  error: workspaceMask(workspace).mask(`${error.name}: ${error.message}`),
  retryable: true,
})

/** Creates session.pause, resume, complete, fail and stopped. The only module with the lifecycle writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('lifecycle')

export const sessionPaused = (reason: string): EventDraft<'session.pause'> =>
  write('session.pause', { reason })
/** The resume event that precedes a message, an answer or a goal which reopens a session. */
export const sessionResumed = (source: string): EventDraft<'session.resume'> =>
  write('session.resume', { source })
/** Ends a turn; the runner commits it with its cursor and releases the lease. */
export const sessionCompleted = (
  reason: EventData<'session.complete'>['reason'],
  runnerId?: string,
): EventDraft<'session.complete'> =>
  write('session.complete', { reason, ...(runnerId === undefined ? {} : { worker_id: runnerId }) })
/** Fails the session: retries exhausted, a crash loop, or a recovery loop. */
export const sessionFailed = (data: EventData<'session.fail'>): EventDraft<'session.fail'> =>
  write('session.fail', data)
/** The end of an aborted turn; the same commit revokes the lease. */
export const sessionStopped = (reason: string): EventDraft<'session.stopped'> =>
  write('session.stopped', { reason })

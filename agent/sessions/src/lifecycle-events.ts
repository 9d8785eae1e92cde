/** Drafts of session.pause, resume, complete, fail and stopped; the one place that holds the lifecycle writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('lifecycle')

export const paused = (reason: string): EventDraft<'session.pause'> => write('session.pause', { reason })
/** The resume that a message, an answer or a goal puts before itself when it reopens a session. */
export const resumed = (source: string): EventDraft<'session.resume'> => write('session.resume', { source })
/** Ends a turn; the worker commits it with its cursor and gives the lease back. */
export const completed = (
  reason: EventData<'session.complete'>['reason'],
  workerId?: string,
): EventDraft<'session.complete'> =>
  write('session.complete', { reason, ...(workerId === undefined ? {} : { worker_id: workerId }) })
/** Fails the session: out of retries, a crash loop, a recovery loop. */
export const failed = (data: EventData<'session.fail'>): EventDraft<'session.fail'> =>
  write('session.fail', data)
/** The end of an aborted turn; who commits it takes the lease in the same commit. */
export const stopped = (reason: string): EventDraft<'session.stopped'> => write('session.stopped', { reason })

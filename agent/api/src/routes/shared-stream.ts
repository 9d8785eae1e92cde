/** Streams several sessions over one connection (contract 4.22). */
import { AppError, ERRORS } from '@cairn/protocol'
import type { Handler } from '../handler.ts'
import { problemDocument } from '../http/problem.ts'
import { chunk } from '../sse/frames.ts'
import { followInbox } from '../sse/inbox-stream.ts'
import { followSessionChanges } from '../sse/session-stream.ts'
import type { SessionCursor } from '../sse/streams.ts'
import { checkCursor } from './events.ts'

export const streamShared: Handler<'streamShared'> = async ({
  services,
  principal,
  identity,
  query,
  exchange,
}) => {
  const { sessions = [] } = query
  const withChanges = query.changes === 'true'
  if (sessions.length === 0 && !withChanges)
    throw new AppError(
      'bad_request',
      'Missing sessions or changes: send sessions=session_id:after, or changes=true.',
    )
  const allowed: SessionCursor[] = []
  /** A session that cannot be streamed does not end the others. */
  const refused: string[] = []
  for (const cursor of sessions) {
    try {
      await services.guard.check(principal, cursor.session_id)
      await checkCursor(services, cursor.session_id, cursor.after)
      allowed.push(cursor)
    } catch (error) {
      // A server error ends the request, so that the client retries.
      if (!(error instanceof AppError) || ERRORS[error.code].status >= 500) throw error
      const problem = problemDocument(error, exchange.id)
      refused.push(JSON.stringify({ session_id: cursor.session_id, problem }))
    }
  }
  const stops: (() => void)[] = []
  const addSink = services.streams.openSessions(exchange, identity, allowed, () => {
    for (const stop of stops) stop()
  })
  if (withChanges) stops.push(followSessionChanges(services.sessionChanges, principal, addSink()))
  const sink = addSink()
  sink.write(chunk(`event: opened\ndata: ${JSON.stringify({ principal_id: principal.id })}\n\n`))
  for (const data of refused) sink.write(chunk(`event: refused\ndata: ${data}\n\n`))
  if (withChanges) stops.push(followInbox(services, exchange.id, principal, addSink()))
  return undefined as never
}

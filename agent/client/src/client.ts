/** Assembles the client: credentials, calls, streams. */
import type { SessionEvent } from '@cairn/protocol'
import { type InboxStream, inboxWith, type SessionStream, sessionChangesWith } from './changes.ts'
import { type Call, type CheckAnswer, callWith } from './call.ts'
import { type SharedStream, sharedWith } from './shared.ts'
import { type ClientOptions, sourceOf } from './source.ts'
import { type EventStream, type WaitOptions, eventsWith, waitFor } from './events.ts'

export type CairnClient = {
  /**
   * One request of the route table. Throws ApiError when the server refuses it, ConnectionError when there is
   * no answer.
   */
  call: Call
  /**
   * Follows a session's log after a cursor, in batches; reconnects by itself. Throws ApiError for permanent
   * errors.
   */
  events: EventStream
  /** The first event the predicate accepts. */
  waitFor: <E extends SessionEvent>(
    sessionId: string,
    predicate: ((event: SessionEvent) => event is E) | ((event: SessionEvent) => boolean),
    options?: WaitOptions,
  ) => Promise<E>
  inboxStream: InboxStream
  sessionStream: SessionStream
  /** Several logs, session changes and inbox changes over one connection. */
  sharedStream: SharedStream
}

export function assembleClient(options: ClientOptions, check: CheckAnswer): CairnClient {
  const source = sourceOf(options)
  const events = eventsWith(source)
  return {
    call: callWith(source, check),
    events,
    waitFor: (sessionId, predicate, wait) => waitFor(events, sessionId, predicate, wait),
    inboxStream: inboxWith(source),
    sessionStream: sessionChangesWith(source),
    sharedStream: sharedWith(source),
  }
}

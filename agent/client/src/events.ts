/** Follows a session's log live: each event after the cursor once, in order (contract 3). */
import { decodeEvent, type EventId, type SessionEvent } from '@cairn/protocol'
import { pathOf } from './call.ts'
import { type Frame, type StateDetail, type StreamState, resume } from './resume.ts'
import type { Source } from './source.ts'

export type EventsOptions = {
  /** Cursor: events after this id. Default 0, the whole log. */
  after?: EventId
  /** Ends the iteration without an error. */
  signal?: AbortSignal
  onState?: (state: StreamState, detail: StateDetail) => void
  /** Use the path below /v1/api, which service accounts require. */
  api?: boolean
}
export type WaitOptions = Pick<EventsOptions, 'after' | 'api'> & {
  /** Rejects with the signal's reason. */
  signal?: AbortSignal
}
export type EventStream = (
  sessionId: string,
  options?: EventsOptions,
) => AsyncGenerator<SessionEvent[], void, undefined>

export function eventsWith({ baseUrl, send, apiByDefault, tuning }: Source): EventStream {
  return (sessionId, options = {}) => {
    let cursor = options.after ?? 0
    const api = options.api ?? apiByDefault
    return resume({
      ...tuning,
      signal: options.signal ?? new AbortController().signal,
      onState: options.onState ?? (() => {}),
      open: async signal =>
        send(
          baseUrl +
            (await pathOf('streamEvents', { params: { id: sessionId }, query: { after: cursor }, api })),
          {
            headers: { accept: 'text/event-stream' },
            cache: 'no-store',
            signal,
          },
        ),
      accept: frame => {
        const event = readEvent(frame)
        if (event.session_id !== sessionId)
          throw new Error(`[events] session ${sessionId}: got event ${event.id} of ${event.session_id}`)
        // Ids only grow. A gap is a pruned llm.delta, not a loss; ids up to the cursor were already returned.
        if (event.id <= cursor) return null
        cursor = event.id
        return event
      },
    })
  }
}

export function readEvent(frame: Frame): SessionEvent {
  const event = decodeEvent(frame.data)
  if (String(event.id) !== frame.id)
    throw new Error(`[events] frame ${frame.id ?? 'without id'} contains event ${event.id}`)
  return event
}

/** The first event of the session after the cursor that the predicate accepts. */
export async function waitFor<E extends SessionEvent>(
  events: EventStream,
  sessionId: string,
  predicate: ((event: SessionEvent) => event is E) | ((event: SessionEvent) => boolean),
  options: WaitOptions = {},
): Promise<E> {
  for await (const batch of events(sessionId, options)) {
    const found = batch.find(event => predicate(event))
    if (found !== undefined) return found as E
  }
  throw options.signal?.reason ?? new Error(`[waitFor] the stream of session ${sessionId} ended`)
}

/** Several logs, session changes and inbox changes over one connection (contract 4.22). */
import type { EventId, InboxItem, Session, SessionEvent } from '@cairn/protocol'
import { pathOf } from './call.ts'
import { type EventsOptions, readEvent } from './events.ts'
import { ApiError, type ProblemDocument } from './failure.ts'
import { type Frame, resume } from './resume.ts'
import { type ClientOptions, type Source, sourceOf } from './source.ts'

export type SharedItem =
  /** The first item of each connection: its principal. Lists must be read again. */
  | { type: 'opened'; principal_id: string }
  | { type: 'event'; event: SessionEvent }
  /** The server does not stream this session; the others continue. */
  | { type: 'refused'; session_id: string; error: ApiError }
  | { type: 'session'; session: Session }
  | { type: 'snapshot'; items: InboxItem[] }
  | { type: 'item'; item: InboxItem }
export type SharedOptions = Omit<EventsOptions, 'after'> & {
  /** The cursor of each session. */
  sessions?: ReadonlyMap<string, EventId>
  /** Also stream changes of sessions and the inbox. */
  changes?: boolean
}
export type SharedStream = (options: SharedOptions) => AsyncGenerator<SharedItem[], void, undefined>

export const sharedWith =
  ({ baseUrl, send, apiByDefault, tuning }: Source): SharedStream =>
  ({ sessions = [], changes = false, api = apiByDefault, signal, onState }) => {
    const cursors = new Map(sessions)
    return resume({
      ...tuning,
      signal: signal ?? new AbortController().signal,
      onState: onState ?? (() => {}),
      open: async connection => {
        const query = {
          sessions: cursors.size === 0 ? undefined : [...cursors].map(entry => entry.join(':')).join(','),
          changes: changes ? 'true' : undefined,
        }
        return send(baseUrl + (await pathOf('streamShared', { query, api })), {
          headers: { accept: 'text/event-stream' },
          cache: 'no-store',
          signal: connection,
        })
      },
      accept: frame => readItem(frame, cursors),
    })
  }

export const createSharedStream = (options: ClientOptions): SharedStream => sharedWith(sourceOf(options))

/** Moves the cursor of the event's session. Null for a repeated event and for an unknown frame. */
function readItem(frame: Frame, cursors: Map<string, EventId>): SharedItem | null {
  // Only events have an id; the name alone is ambiguous, because an event type may equal a frame name.
  if (frame.id !== undefined) {
    const event = readEvent(frame)
    if (event.id <= (cursors.get(event.session_id) ?? Infinity)) return null
    cursors.set(event.session_id, event.id)
    return { type: 'event', event }
  }
  switch (frame.event) {
    case 'opened':
      return { type: 'opened', ...(JSON.parse(frame.data) as { principal_id: string }) }
    case 'refused': {
      const { session_id, problem } = JSON.parse(frame.data) as {
        session_id: string
        problem: ProblemDocument
      }
      cursors.delete(session_id)
      return { type: 'refused', session_id, error: new ApiError(problem) }
    }
    case 'session':
      return { type: 'session', session: JSON.parse(frame.data) as Session }
    case 'snapshot':
      return { type: 'snapshot', ...(JSON.parse(frame.data) as { items: InboxItem[] }) }
    case 'item':
      return { type: 'item', item: JSON.parse(frame.data) as InboxItem }
    default:
      return null
  }
}

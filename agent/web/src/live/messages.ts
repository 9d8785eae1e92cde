/** What a page and the hub say to each other. The hub holds the streams of all pages of a browser. */
import type { ProblemDocument, SharedItem, StreamState } from '@cairn/client'
import type { EventId, SessionEvent } from '@cairn/protocol'

/** One subscription of a page. Without a log it is to the changes of sessions and inbox. */
export type Want = { key: number; log: { session_id: string; after: EventId } | null }
/** A page sends all that it wants, whenever that changes and as its heartbeat. */
export type ToHub = readonly Want[]

export type Change = Extract<SharedItem, { type: 'opened' | 'session' | 'snapshot' | 'item' }>
/** An error, as far as it can be sent to another thread. */
type Failure = { message: string; problem: ProblemDocument | null }
export type FromHub =
  /** The answer to each message of the page. */
  | { type: 'alive' }
  | { type: 'changes'; key: number; items: Change[] }
  | { type: 'events'; key: number; items: SessionEvent[] }
  | { type: 'state'; key: number; state: StreamState }
  /** The subscription is over. */
  | { type: 'failed'; key: number; failure: Failure }

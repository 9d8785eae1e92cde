/** The messages between a page and the hub. The hub holds the streams of all pages of a browser. */
import type { ProblemDocument, SharedItem, StreamState } from '@cairn/client'
import type { EventId, SessionEvent } from '@cairn/protocol'

/** One subscription of a page. Without a log, it receives changes of sessions and inbox. */
export type Want = { key: number; log: { session_id: string; after: EventId } | null }
/** A page sends all its subscriptions whenever they change, and as its heartbeat. */
export type ToHub = readonly Want[]

export type Change = Extract<SharedItem, { type: 'opened' | 'session' | 'snapshot' | 'item' }>
/** The parts of an error that can be sent to another thread. */
type Failure = { message: string; problem: ProblemDocument | null }
export type FromHub =
  /** The reply to each message of the page. */
  | { type: 'alive' }
  | { type: 'changes'; key: number; items: Change[] }
  | { type: 'events'; key: number; items: SessionEvent[] }
  | { type: 'state'; key: number; state: StreamState }
  /** The subscription has ended. */
  | { type: 'failed'; key: number; failure: Failure }

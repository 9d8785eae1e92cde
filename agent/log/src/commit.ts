/**
 * The input of a log: a commit with its guards, its events and their rows. store.ts documents the guarantees.
 */
import type { EventDraft, EventId, EventType, SessionStatus } from '@cairn/protocol'
import type { EventRow } from './resources/index.ts'
import type { Fence, NewSession, SessionRow } from './session.ts'

export type { EventRow }
/** A change that belongs to no event: an inbox item is opened for the event that carries it. */
export type RowChange = Exclude<EventRow, { do: 'inbox.open' }>

/** An event to write, with its rows: code that adds it to a commit need not know them. */
export type EventWithRows<T extends EventType = EventType> = EventDraft<T> & {
  readonly rows?: readonly EventRow[]
}

export const withRows = <T extends EventType>(
  event: EventDraft<T>,
  ...rows: EventRow[]
): EventWithRows<T> => ({
  ...event,
  rows,
})

export type Commit = {
  session_id: string
  events: readonly EventWithRows[]
  /** Runner commits only: rejected with `stale_lease` unless this lease is current. */
  fence?: Fence
  /** Rejected with `wrong_status` unless the session has one of these statuses. */
  expect_status?: readonly SessionStatus[]
  /**
   * Rejected with `new_work` if an event after this id requests work: the end of a turn must not ignore a
   * late message.
   */
  expect_no_work_after?: EventId
  /**
   * Rejected with `question_open` while a question of the session is open: text typed then may be the answer.
   */
  expect_no_question?: true
  /**
   * Rejected with `has_title` unless this is the session's title and provisional; null: it must have none. A
   * generated title must never replace one that a person set, even an identical one.
   */
  expect_title?: string | null
  /**
   * Written before `events` if the session is completed or failed: the `session.resume` of a message that
   * reopens it.
   */
  reopen?: EventDraft<'session.resume'>
  /** The statuses to which `reopen` applies; by default completed and failed. */
  reopen_from?: readonly SessionStatus[]
  /**
   * Row changes that belong to no single event. They are applied first, then those of the events, in order.
   */
  rows?: readonly RowChange[]
  /**
   * The runner's progress: everything up to this id has been handled. 'self': up to the last event of this
   * commit.
   */
  cursor?: EventId | 'self'
  /**
   * Revokes the current lease (epoch + 1): later commits of its holder are rejected. For pause, stop,
   * archive.
   */
  revoke_lease?: boolean
  /**
   * The commit continues an answer that is already streaming: commits that start or continue work may be
   * written first, though not for long (waiting-lines.ts). Commits of one session that must stay in order are
   * awaited one by one.
   */
  can_wait?: true
  /** Releases the lease of `fence` with this commit. */
  release_lease?: boolean
  set?: { status?: SessionStatus; title?: string; model?: string }
  /**
   * The caller does not need the resulting session: a message, a chunk of an answer. Reading `session` of the
   * result throws.
   */
  without_session?: true
  /**
   * Changes of other sessions in the same transaction, applied after the commit's own part and in this order;
   * a rejection of any part undoes all of them. A session occurs once in a commit. Used for the effects of
   * links: a child's end with its outcome on the parent, a stop of a whole tree.
   */
  also?: readonly LinkedCommit[]
}
/** The part of a commit for another session. It holds no lease there; its guards are those of its rows. */
export type LinkedCommit = Pick<
  Commit,
  'session_id' | 'events' | 'rows' | 'expect_status' | 'reopen' | 'reopen_from' | 'revoke_lease' | 'set'
> & {
  /** Creates the session; rejected with `exists` if the id is taken. */
  create?: Omit<NewSession, 'id'>
  /** Everything up to its last event counts as handled. */
  cursor?: 'self'
}
export type Committed = {
  events: readonly { id: EventId; type: EventType; created_at: string }[]
  last_id: EventId
  /** The session after the commit. Throws if the commit was `without_session`. */
  session: SessionRow
}

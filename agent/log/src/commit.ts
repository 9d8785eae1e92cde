/**
 * The input of a log: a commit with its guards, its events and their rows. store.ts documents the guarantees.
 */
import type {
  ArtifactMeta,
  ArtifactSpec,
  EventDraft,
  EventId,
  EventType,
  InboxKind,
  Principal,
  SessionStatus,
} from '@cairn/protocol'
import type { CodeRunChange } from './code-runs.ts'
import type { LinkChange } from './links.ts'
import type { Fence, NewSession, SessionRow } from './session.ts'
import type { BoardChange } from './board.ts'
import type { MissionChange } from './missions.ts'
import type { ResearchChange } from './research.ts'
import type { BrowserChange } from './browsers.ts'
import type { ChannelChange } from './channels.ts'
import type { ScheduleChange } from './schedules.ts'
import type { TaskChange } from './tasks.ts'

/** The principal that decided an item. */
export type Decider = Pick<Principal, 'kind' | 'id'>
/** `granted_by` is null if it was not recorded, by older releases. */
export type Grant = { id: string; granted_by: Decider | null }

export type NewInboxItem = {
  id: string
  kind: InboxKind
  title: string
  body: string | null
  payload: Record<string, unknown>
  expires_at: number | null
  tool_call_id: string | null
  /** Stored with the item and never shown: the hash of a gated call's arguments. */
  private?: Record<string, string>
}

export type RowChange =
  /** Guard and change: rejected with `already_answered` unless the item is pending. */
  | {
      do: 'inbox.answer'
      id: string
      decision: string
      status: 'responded' | 'acknowledged' | 'expired'
      decided_by?: Decider
    }
  /**
   * Like inbox.answer, for the pending item of that tool call; rejected with `already_answered` if there is
   * none.
   */
  | {
      do: 'inbox.answer_call'
      tool_call_id: string
      kind: InboxKind
      decision: string
      decided_by?: Decider
    }
  /** Expires every pending item of the session, when it can no longer be answered. */
  | { do: 'inbox.expire_all'; decision: string }
  /**
   * Expires every pending question of the session, and every action except proposals and those that outlive a
   * stop: the turn that waited for them was stopped.
   */
  | { do: 'inbox.expire_waiting'; decision: string }
  /**
   * Dismisses the item of a call: a pending one expires, an expired one stays. Rejected with
   * `already_answered` if it was answered.
   */
  | { do: 'inbox.expire_call'; tool_call_id: string; kind: InboxKind; decision: string }
  | {
      do: 'grant.add'
      id: string
      tool: string
      arguments_hash: string
      granted_by: Decider
      expires_at: number
    }
  /**
   * Guard and change in one DELETE … RETURNING: rejected with `no_grant` unless the grant is valid and covers
   * that call.
   */
  | { do: 'grant.consume'; id: string; tool: string; arguments_hash: string }
  | { do: 'artifact.add'; artifact: Omit<ArtifactMeta, 'session_id' | 'created_at'>; spec: ArtifactSpec }
  | LinkChange
  | TaskChange
  | BoardChange
  | MissionChange
  | ResearchChange
  | ChannelChange
  | BrowserChange
  | ScheduleChange
  | CodeRunChange

/** Row changes of an event; an inbox item is opened for the event that carries it. */
export type EventRow = { do: 'inbox.open'; item: NewInboxItem } | RowChange

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

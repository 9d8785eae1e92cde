/**
 * What a caller asks of a log: a commit with its guards, its events and their rows. store.ts says what it
 * guarantees.
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

/** Who decided on an item. */
export type Decider = Pick<Principal, 'kind' | 'id'>
/** `granted_by` is null where it was not recorded: grants of older releases. */
export type Grant = { id: string; granted_by: Decider | null }

export type NewInboxItem = {
  id: string
  kind: InboxKind
  title: string
  body: string | null
  payload: Record<string, unknown>
  expires_at: number | null
  tool_call_id: string | null
  /** Kept beside the item and never shown: the hash of a gated call's arguments. */
  private?: Record<string, string>
}

export type RowChange =
  /** Guard and change: refused with `already_answered` unless the item is pending. */
  | {
      do: 'inbox.answer'
      id: string
      decision: string
      status: 'responded' | 'acknowledged' | 'expired'
      decided_by?: Decider
    }
  /**
   * As inbox.answer, found by the pending item of that tool call; refused with `already_answered` when there
   * is none.
   */
  | {
      do: 'inbox.answer_call'
      tool_call_id: string
      kind: InboxKind
      decision: string
      decided_by?: Decider
    }
  /** Every pending item of the session: nobody can answer them any more. */
  | { do: 'inbox.expire_all'; decision: string }
  /**
   * Every pending question of the session, and every action but proposals and those that outlive a stop: the
   * turn that waited for them was stopped.
   */
  | { do: 'inbox.expire_waiting'; decision: string }
  /**
   * The item of a call is passed over: a pending one expires, one that expired before stays. Refused with
   * `already_answered` when somebody has responded.
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
   * Guard and change in one DELETE … RETURNING: refused with `no_grant` unless that grant lives and is for
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

/** What an event brings into its commit; an inbox item is opened for the event that carries it. */
export type EventRow = { do: 'inbox.open'; item: NewInboxItem } | RowChange

/** An event to be written, with its own rows: whoever puts it into a commit need not know them. */
export type Draft<T extends EventType = EventType> = EventDraft<T> & { readonly rows?: readonly EventRow[] }

export const withRows = <T extends EventType>(event: EventDraft<T>, ...rows: EventRow[]): Draft<T> => ({
  ...event,
  rows,
})

export type Commit = {
  session_id: string
  events: readonly Draft[]
  /** Worker commits only: refused with `stale_lease` unless this lease is the live one. */
  fence?: Fence
  /** Refused with `wrong_status` unless the session is in one of these. */
  expect_status?: readonly SessionStatus[]
  /**
   * Refused with `new_work` when an event that asks for work lies beyond this id: the end of a turn must not
   * bury a late message.
   */
  expect_no_work_after?: EventId
  /**
   * Refused with `question_open` while a question of the session waits for its answer: what is typed then may
   * be the answer.
   */
  expect_no_question?: true
  /**
   * Refused with `has_title` unless this is the session's title, and a provisional one; null: it must have
   * none. A title that was found must not take the place of one that was given, even of one that reads the
   * same.
   */
  expect_title?: string | null
  /**
   * Written before `events` if the session is completed or failed: the `session.resume` of a message that
   * reopens.
   */
  reopen?: EventDraft<'session.resume'>
  /** The states that `reopen` is for, where they are not completed and failed. */
  reopen_from?: readonly SessionStatus[]
  /** Rows of no single event. They are changed first, then those of the events, in their order. */
  rows?: readonly RowChange[]
  /**
   * The worker's progress: everything up to this id is dealt with. 'self': up to the last event of this
   * commit.
   */
  cursor?: EventId | 'self'
  /**
   * Takes the lease from whoever holds it (epoch + 1): whatever the holder commits after this is refused. For
   * pause, stop, archive.
   */
  revoke_lease?: boolean
  /**
   * Goes on with an answer that streams already: what begins or goes on with work may be written before it,
   * though not for long (waiting-lines.ts). Commits of one session that must stay in order are awaited one by
   * one.
   */
  can_wait?: true
  /** Gives the lease of `fence` back with this commit. */
  release_lease?: boolean
  set?: { status?: SessionStatus; title?: string; model?: string }
  /**
   * Nobody will look at the session as it is then: a message, a chunk of an answer. To read `session` of the
   * answer throws.
   */
  without_session?: true
  /**
   * What the same transaction does to other sessions, after the commit's own part and in this order; a
   * refusal of any part undoes all of them. A session is named once in a commit. What follows from a link is
   * written so: a child's end and its outcome on the parent, a stop of a whole tree.
   */
  also?: readonly LinkedCommit[]
}
/**
 * The part of a commit that is another session's: it holds no lease there, its guards are what the rows
 * check.
 */
export type LinkedCommit = Pick<
  Commit,
  'session_id' | 'events' | 'rows' | 'expect_status' | 'reopen' | 'reopen_from' | 'revoke_lease' | 'set'
> & {
  /** Makes the session; refused with `exists` when there is one of that id. */
  create?: Omit<NewSession, 'id'>
  /** Everything up to its last event counts as dealt with. */
  cursor?: 'self'
}
export type Committed = {
  events: readonly { id: EventId; type: EventType; created_at: string }[]
  last_id: EventId
  /** As it is after the commit. Throws where the commit was one `without_session`. */
  session: SessionRow
}

/**
 * What a durable log is, for every implementation (SQLite here, Postgres next). `commit` is the only way to
 * write.
 *
 * A commit is all or nothing: guards, events and rows of one session in one transaction. It resolves only
 * when it is on disk (fsync), and only then do readers see it. Ids are taken from the session's row inside
 * the transaction, so commit order is read order and a cursor never skips. A worker's commit carries its
 * lease epoch; a stale one is refused by the statement itself.
 */
import type {
  ArtifactMeta,
  ArtifactSpec,
  EventDraft,
  EventId,
  EventType,
  InboxItem,
  InboxKind,
  Principal,
  Session,
  SessionStatus,
} from '@cairn/protocol'
import type { AccountStore } from './account-store.ts'
import type { CoordinationStore, Link, LinkChange } from './links.ts'
import type { TaskChange } from './tasks.ts'

/** The stored session: what the API shows and what only the server needs. Times are epoch milliseconds. */
export type SessionRow = Omit<Session, 'created_at' | 'updated_at'> & {
  org_id: string
  /** Kind of the principal that `created_by` names. */
  created_by_kind: 'user' | 'service_account'
  /** Per-session settings given at creation; the harness validates what it reads. */
  config: Record<string, unknown>
  created_at: number
  updated_at: number
  /** Id of the last event a worker has fully dealt with. */
  cursor: EventId
  /**
   * Id of the last event that asks for work (`wakes` in the contract). Work is `wake_id > cursor` while
   * active.
   */
  wake_id: EventId
  lease: { worker_id: string; epoch: number; until: number } | null
}
export type NewSession = {
  id: string
  org_id: string
  created_by: string
  created_by_kind: 'user' | 'service_account'
  agent: string
  channel: string
  title?: string | null
  model?: string | null
  parent_id?: string | null
  config?: Record<string, unknown>
}

/** `json` is the whole record on one line, exactly as it is stored, polled and streamed. */
export type StoredEvent = { id: EventId; type: EventType; json: string }

/** Ids that lost records may have had (losses.ts); none of them is given again. */
export type LostIds = { after_id: EventId; last_id: EventId }

/**
 * What a fold has made of a log up to event `last_id`, as text. `version` is of the code that folds: another
 * one cannot read it.
 */
export type Snapshot = { version: string; last_id: EventId; body: string }

/** The right of one worker to act for one session, until a newer epoch exists. */
export type Fence = { worker_id: string; epoch: number }

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
   * Refused with `has_title` unless this is the session's title; null: it must have none. A title that was
   * found must not take the place of one that was given.
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
  session: SessionRow
}

export const REFUSALS = [
  'no_session',
  'stale_lease',
  'wrong_status',
  'new_work',
  'has_title',
  'question_open',
  'already_answered',
  'no_grant',
  'exists',
  'already_settled',
  'too_many_open',
  'too_many_children',
  'tree_moved',
  'timer_gone',
  'task_moved',
] as const
export type Refusal = (typeof REFUSALS)[number]
/** A guard said no; nothing of the commit was written. */
export class CommitRefused extends Error {
  override readonly name = 'CommitRefused'
  readonly refusal: Refusal
  /** The session as it is, where there is one; for `already_answered` the item too. */
  readonly session: SessionRow | null
  readonly item: InboxItem | null
  constructor(
    refusal: Refusal,
    detail: string,
    session: SessionRow | null = null,
    item: InboxItem | null = null,
  ) {
    super(detail)
    this.refusal = refusal
    this.session = session
    this.item = item
  }
}

export type Claim = {
  session: SessionRow
  fence: Fence
  /**
   * The former holder died with the lease in hand, this many seconds ago; null when it was released in order.
   */
  abandoned_s: number | null
  /** What ties the session to its parent; null for a root. It stays open while this claim's fence holds. */
  link: Link | null
}

export type SessionQuery = {
  org_id: string
  created_by?: string
  status?: readonly SessionStatus[]
  parent_id?: string | null
  /** Only those whose title, agent and id hold every word of it. */
  text?: string
  limit: number
  cursor?: string
}
export type InboxQuery = {
  org_id: string
  created_by?: string
  session_id?: string
  status?: readonly InboxItem['status'][]
  kind?: readonly InboxKind[]
  limit: number
  cursor?: string
}

export interface LogStore {
  // -- writing
  createSession(session: NewSession): Promise<SessionRow>
  /**
   * Rejects with CommitRefused (a guard said no) or an Error (the disk or the store failed; nothing is
   * acknowledged).
   */
  commit(commit: Commit): Promise<Committed>
  /** Marks an inbox item read. */
  markRead(itemId: string): Promise<InboxItem | null>

  // -- reading
  /** Events after the cursor, in order, at most `limit`; with `types` only those. */
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): Promise<StoredEvent[]>
  /**
   * The ids that the log has lost around a cursor: above `after_id`, up to `last_id`, the cursor among them.
   * Null for a cursor that names what is there, or what is yet to come.
   */
  lostAt(sessionId: string, cursor: EventId): Promise<LostIds | null>
  /**
   * Keeps this beside the log, in place of the one before. False, and nothing is kept, where the log has no
   * event `last_id`: a snapshot is never ahead of it.
   */
  saveSnapshot(sessionId: string, snapshot: Snapshot): Promise<boolean>
  /**
   * What was last saved for that version; null where nothing was, and where it, or the record it ends with,
   * is not what it was then. It is no part of the log and may be missing at any time.
   */
  readSnapshot(sessionId: string, version: string): Promise<Snapshot | null>
  /**
   * Called (coalesced) whenever the session's log grew; returns how to stop. May also be called for nothing.
   */
  watch(sessionId: string, nudge: () => void): () => void
  getSession(sessionId: string): Promise<SessionRow | null>
  /**
   * Newest first; `cursor` continues a listing. Archived ones only when asked for. With `text` a page may be
   * short, or empty, and still have a next one.
   */
  listSessions(query: SessionQuery): Promise<{ sessions: SessionRow[]; next_cursor: string | null }>
  /** `private` is what `inbox.open` was given; empty when nothing. */
  getInboxItem(
    itemId: string,
  ): Promise<(InboxItem & { org_id: string; created_by: string; private: Record<string, string> }) | null>
  listInbox(query: InboxQuery): Promise<{ items: InboxItem[]; next_cursor: string | null }>
  /** Called whenever an inbox item of the organisation appeared or changed. */
  watchInbox(orgId: string, nudge: (itemId: string) => void): () => void
  /** A live grant for that very call; of several the one that ends first. */
  findGrant(sessionId: string, tool: string, argumentsHash: string): Promise<Grant | null>
  listArtifacts(sessionId: string): Promise<ArtifactMeta[]>
  getArtifact(
    sessionId: string,
    artifactId: string,
  ): Promise<{ meta: ArtifactMeta; spec: ArtifactSpec } | null>

  // -- leases and work
  /**
   * Takes leases on sessions without a live one: those whose saga must be rolled back, whatever their status,
   * then those that have work, oldest work first.
   */
  claim(workerId: string, limit: number, ttlMs: number): Promise<Claim[]>
  /** Renews; returns the session ids whose lease is no longer this worker's. */
  renew(
    workerId: string,
    leases: readonly { session_id: string; epoch: number }[],
    ttlMs: number,
  ): Promise<string[]>
  release(sessionId: string, fence: Fence): Promise<void>
  /**
   * Who holds a session, and what has become of it: asked after every commit to one that is held, so cheap.
   */
  leaseOf(sessionId: string): Promise<Pick<SessionRow, 'status' | 'lease'> | null>
  /** Called whenever some session may have work. May also be called for nothing. */
  watchWork(nudge: () => void): () => void

  // -- upkeep
  /**
   * Which of these sessions are archived, held by nobody, and owe no rollback: nothing runs in them again.
   */
  findRetired(sessionIds: readonly string[]): Promise<string[]>
  /** Resolves when a small write of its own is on disk; rejects as a commit would that the disk refuses. */
  probe(): Promise<void>
  /**
   * Deletes superseded llm.delta rows whose response landed before `before` (epoch ms). Returns how many
   * went.
   */
  pruneDeltas(before: number): Promise<number>
  /** Problems found, each a sentence; an empty list is a healthy store. */
  check(): Promise<string[]>
  /** Copies a live store to a file or directory. */
  backup(target: string): Promise<void>
  close(): Promise<void>
  readonly accounts: AccountStore
  readonly coordination: CoordinationStore
}

/**
 * The interface of a durable log, for every implementation (SQLite and Postgres). Events are only written by
 * `commit`.
 *
 * A commit is all or nothing: guards, events and rows of a session, and of others in `also`, in one
 * transaction. It resolves only when it is on disk (fsync), and only then do readers see it. Ids are taken
 * from the session's row inside the transaction, so commit order is read order and a cursor never skips an
 * event. A runner's commit carries its lease epoch; a stale one is rejected by the statement itself.
 */
import type { EventId, EventType } from '@cairn/protocol'
import type { Commit, Committed } from './commit.ts'
import type { ClaimRules } from './engine/fair-claims.ts'
import type { ResourceStores } from './resources/index.ts'
import type { SearchStore } from './resources/search/row.ts'
import type { Claim, Fence, NewSession, SessionQuery, SessionRow } from './session.ts'

/** `json` is the whole record on one line, exactly as it is stored, polled and streamed. */
export type StoredEvent = { id: EventId; type: EventType; json: string }

/** Ids that lost records may have had (losses.ts); none of them is assigned again. */
export type LostIds = { after_id: EventId; last_id: EventId }

/**
 * The state that a fold computed from a log up to event `last_id`, as text. `version` identifies the fold's
 * code: another version cannot read it.
 */
export type Snapshot = { version: string; last_id: EventId; body: string }

export interface SessionStore {
  create(session: NewSession): Promise<SessionRow>
  get(sessionId: string): Promise<SessionRow | null>
  /** The existing sessions with these ids, in any order. */
  getMany(ids: readonly string[]): Promise<SessionRow[]>
  /**
   * Newest first; `cursor` continues a listing. Archived sessions only on request. With `text` a page may be
   * short, or empty, and still have a next one.
   */
  list(query: SessionQuery): Promise<{ sessions: SessionRow[]; next_cursor: string | null }>
  /**
   * Calls back whenever a session was created or its row may have changed, in any organisation. Calls may be
   * frequent: a streaming answer changes it many times a second.
   */
  watch(onChange: (sessionId: string) => void): () => void
  /**
   * Returns the archived sessions among these that have no lease and need no rollback: nothing runs in them
   * again.
   */
  retired(sessionIds: readonly string[]): Promise<string[]>
}

export interface EventStore {
  /**
   * Events after the cursor, in order, at most `limit`; with `types` only those. A short page may come from
   * the cache and lag the newest commit. Only an empty page means caught up.
   */
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): Promise<StoredEvent[]>
  /**
   * The range of lost ids that contains the cursor: above `after_id`, up to `last_id`. Null for a cursor that
   * names an existing or a future event.
   */
  lostAt(sessionId: string, cursor: EventId): Promise<LostIds | null>
  /** The last event of each of these sessions that has one. */
  last(sessionIds: readonly string[]): Promise<Map<string, StoredEvent>>
  /**
   * Calls back (coalesced) whenever the session's log grew; returns a function that stops it. Spurious calls
   * are possible. `epoch` is that of the lease on the session afterwards, null if there is none or it is not
   * known here.
   */
  watch(sessionId: string, onChange: (epoch: number | null) => void): () => void
  /**
   * Deletes superseded llm.delta rows whose response was committed before `before` (epoch ms). Returns the
   * number of deleted rows.
   */
  pruneDeltas(before: number): Promise<number>
}

export interface SnapshotStore {
  /**
   * Stores the snapshot beside the log, in place of the previous one. Returns false, and stores nothing, if
   * the log has no event `last_id`: a snapshot is never ahead of it.
   */
  save(sessionId: string, snapshot: Snapshot): Promise<boolean>
  /**
   * The last snapshot saved for that version; null if there is none, or if it, or the record it ends with,
   * has changed. It is not part of the log and may be missing at any time.
   */
  read(sessionId: string, version: string): Promise<Snapshot | null>
}

/** The lease of a session: who may act for it, and until when. */
export interface LeaseStore {
  /**
   * Takes leases on sessions without a live one: those whose saga must be rolled back, whatever their status,
   * then those that have work, in the order of fair-claims.ts. Without rules, `limit` is the only limit.
   */
  claim(runnerId: string, limit: number, ttlMs: number, rules?: ClaimRules): Promise<Claim[]>
  /** Renews leases; returns the ids of sessions whose lease this runner has lost. */
  renew(
    runnerId: string,
    leases: readonly { session_id: string; epoch: number }[],
    ttlMs: number,
  ): Promise<string[]>
  release(sessionId: string, fence: Fence): Promise<void>
  /**
   * The current lease and status of a session: called after every commit to a leased session, so it is cheap.
   */
  get(sessionId: string): Promise<Pick<SessionRow, 'status' | 'lease'> | null>
  /** Number of sessions that a claim without a limit and rules would take. */
  countDue(): Promise<number>
  /** Calls back whenever some session may have work. Spurious calls are possible. */
  watch(onChange: () => void): () => void
}

export interface InboxWatch {
  /** Calls back whenever an inbox item of the organisation was created or changed. */
  watch(orgId: string, onChange: (itemId: string) => void): () => void
}

/**
 * What the store offers, by resource. Verbs: `get` one row by its id, `list` rows by a query, `read` a whole,
 * `watch` for changes, `claim` what only one process may work on.
 */
export interface LogStore extends Omit<ResourceStores, 'inbox'> {
  /**
   * Rejects with CommitRefused if a guard rejected it, or with an Error if the disk or the store failed;
   * nothing is acknowledged then.
   */
  commit(commit: Commit): Promise<Committed>
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly snapshots: SnapshotStore
  readonly leases: LeaseStore
  readonly inbox: ResourceStores['inbox'] & InboxWatch
  readonly search: SearchStore

  // -- upkeep
  /**
   * Resolves when a small write of its own is on disk; rejects like a commit if the disk rejects the write.
   */
  probe(): Promise<void>
  /** The problems found, each a sentence; an empty list is a healthy store. */
  check(): Promise<string[]>
  /** Copies a live store to a file or directory. */
  backup(target: string): Promise<void>
  close(): Promise<void>
}

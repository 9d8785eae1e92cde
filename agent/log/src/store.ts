/**
 * What a durable log is, for every implementation (SQLite and Postgres). `commit` is the only way to write.
 *
 * A commit is all or nothing: guards, events and rows of a session, and of others in `also`, in one
 * transaction. It resolves only when it is on disk (fsync), and only then do readers see it. Ids are taken
 * from the session's row inside the transaction, so commit order is read order and a cursor never skips. A
 * worker's commit carries its lease epoch; a stale one is refused by the statement itself.
 */
import type {
  ArtifactMeta,
  ArtifactSpec,
  EventId,
  EventType,
  InboxItem,
  InboxKind,
  SessionSort,
  SessionState,
  SessionStatus,
} from '@cairn/protocol'
import type { AccountStore } from './account-store.ts'
import type { Commit, Committed, Grant } from './commit.ts'
import type { BrowserStore } from './browsers.ts'
import type { ChannelStore } from './channels.ts'
import type { ClaimRules } from './fair-claims.ts'
import type { CoordinationStore } from './links.ts'
import type { NoticeStore } from './notices.ts'
import type { SearchStore } from './search/search-store.ts'
import type { Claim, Fence, NewSession, SessionRow } from './session.ts'

/** `json` is the whole record on one line, exactly as it is stored, polled and streamed. */
export type StoredEvent = { id: EventId; type: EventType; json: string }

/** Ids that lost records may have had (losses.ts); none of them is given again. */
export type LostIds = { after_id: EventId; last_id: EventId }

/**
 * What a fold has made of a log up to event `last_id`, as text. `version` is of the code that folds: another
 * one cannot read it.
 */
export type Snapshot = { version: string; last_id: EventId; body: string }

export type SessionQuery = {
  org_id: string
  created_by?: string
  status?: readonly SessionStatus[]
  state?: readonly SessionState[]
  agent?: readonly string[]
  channel?: readonly string[]
  min_cost_usd?: number
  /** Epoch milliseconds of the last change: from, and before. */
  since?: number
  until?: number
  parent_id?: string | null
  /** Only those whose title, agent and id hold every word of it; newest first. */
  text?: string
  /** By default `created`. */
  sort?: SessionSort
  limit: number
  cursor?: string
}
export type InboxQuery = {
  org_id: string
  created_by?: string
  session_id?: string
  /** With `session_id`: what all below it have raised too. */
  descendants?: true
  status?: readonly InboxItem['status'][]
  kind?: readonly InboxKind[]
  limit: number
  cursor?: string
}

/** What the readers of a store are asked: without an organisation, the items of all. */
export type AnyInboxQuery = Omit<InboxQuery, 'org_id'> & Partial<Pick<InboxQuery, 'org_id'>>
export const pendingGates = (cursor: string | undefined): AnyInboxQuery => ({
  kind: ['governance_gate'],
  status: ['pending'],
  limit: 100,
  ...(cursor === undefined ? {} : { cursor }),
})

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
  /**
   * Events after the cursor, in order, at most `limit`; with `types` only those. Only an empty page is as new
   * as what the store has told before: one with fewer than `limit` may come from memory, a commit behind it.
   */
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
   * `epoch` is that of the lease that held the session after it, null where none did or it is not known here.
   */
  watch(sessionId: string, nudge: (epoch: number | null) => void): () => void
  getSession(sessionId: string): Promise<SessionRow | null>
  /** Those of these ids that there are, in any order. */
  getSessions(ids: readonly string[]): Promise<SessionRow[]>
  /** The last event of each of these sessions that has one. */
  lastEvents(sessionIds: readonly string[]): Promise<Map<string, StoredEvent>>
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
  /** Approvals that nobody has decided on, of all organisations: for the service itself, never for a caller. */
  listPendingGates(cursor?: string): Promise<{ items: InboxItem[]; next_cursor: string | null }>
  /** Called whenever an inbox item of the organisation appeared or changed. */
  watchInbox(orgId: string, nudge: (itemId: string) => void): () => void
  /**
   * Called whenever a session was made or its row may have changed, of whatever organisation. May be called
   * often: a stream of an answer changes it many times a second.
   */
  watchSessions(nudge: (sessionId: string) => void): () => void
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
   * then those that have work, in the order of fair-claims.ts. Without rules only the number limits it.
   */
  claim(workerId: string, limit: number, ttlMs: number, rules?: ClaimRules): Promise<Claim[]>
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
  readonly channels: ChannelStore
  readonly search: SearchStore
  readonly browsers: BrowserStore
  readonly notices: NoticeStore
}

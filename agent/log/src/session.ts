/** A session as the store holds it, and its lease. */
import type { EventId, Session } from '@cairn/protocol'
import type { SessionTree, Link } from './resources/links/row.ts'

/** The stored session: what the API shows and what only the server needs. Times are epoch milliseconds. */
export type SessionRow = Omit<Session, 'created_at' | 'updated_at' | keyof SessionTree> & {
  org_id: string
  /** Kind of the principal in `created_by`. */
  created_by_kind: 'user' | 'service_account'
  /** Per-session settings given at creation; the harness validates what it reads. */
  config: Record<string, unknown>
  created_at: number
  updated_at: number
  /** Id of the last event that a runner has fully handled. */
  cursor: EventId
  /**
   * Id of the last event that requests work (`wakes` in the contract). There is work if `wake_id > cursor`
   * while the session is active.
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

/** The right of one runner to act for one session, until a newer epoch exists. */
export type Fence = { worker_id: string; epoch: number }

export type Claim = {
  session: SessionRow
  fence: Fence
  /** Seconds since the former holder died with the lease; null if the lease was released. */
  abandoned_s: number | null
  /** The session's link to its parent; null for a root. It stays open while this claim's fence is valid. */
  link: Link | null
}

/** A session as the store holds it, queries of sessions, and the lease. */
import type { EventId, Session, SessionSort, SessionState, SessionStatus } from '@cairn/protocol'
import type { Link, SessionTree } from './resources/links/link.ts'

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

export type SessionQuery = {
  org_id: string
  created_by?: string
  status?: readonly SessionStatus[]
  state?: readonly SessionState[]
  agent?: readonly string[]
  channel?: readonly string[]
  min_cost_usd?: number
  /** Range of the last change in epoch milliseconds: from (inclusive), and before (exclusive). */
  since?: number
  until?: number
  parent_id?: string | null
  /** Only sessions whose title, agent and id contain every word of it; newest first. */
  text?: string
  /** By default `created`. */
  sort?: SessionSort
  limit: number
  cursor?: string
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

/** Rows of sessions in SQLite, and their conversion for the interface. */
import type { SessionStatus } from '@cairn/protocol'
import { OUTLIVE_STOP } from '@cairn/protocol/words'
import type { Projected } from './projection.ts'
import { sessionState } from './session-state.ts'
import type { SessionRow } from '../session.ts'

export type StoredSession = {
  org_key: number
  /** Unique within the organisation. */
  key: number
  id: string
  org_id: string
  created_by: string
  created_by_kind: 'user' | 'service_account'
  agent: string
  channel: string
  status: SessionStatus
  title: string | null
  model: string | null
  parent_id: string | null
  config: string
  created_at: number
  updated_at: number
  last_id: number
  message_count: number
  tool_call_count: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
  cursor: number
  wake_id: number
  wake_at: number
  /** The last event that suspends the turn for a person. */
  asked_id: number
  worker_id: string | null
  epoch: number
  lease_until: number
  lease_at: number
  recent: string
  delta_low: number
  pruned: number
  saga: Projected['saga']
  provisional: Projected['provisional']
  unpriced: Projected['unpriced']
  /** Not a column: 1 question, 2 action, 3 approval, null nothing pending. */
  waiting: number | null
}

/**
 * Ranks of the item kinds that ask a person; a session waits on the lowest pending one. Nothing waits for a
 * proposal, which is an action with that key: in JSON, a name between unescaped quotes is a key and never
 * part of a text.
 */
const ACTION = `kind = 'action_required' AND payload NOT LIKE '%"proposal":%'`
const RANK = `CASE WHEN kind = 'input_required' THEN 1 WHEN ${ACTION} THEN 2 WHEN kind = 'governance_gate' THEN 3 END`
/** Whether a stop expires an item of a session. */
export const EXPIRES_WITH_STOP = `(kind = 'input_required' OR (${ACTION}${OUTLIVE_STOP.map(
  type => ` AND payload NOT LIKE '%"action_type":"${type}"%'`,
).join('')}))`
/** What a session waits on, by its organisation, its key and the time; each is an expression. */
export const waitingSql = (org: string, key: string, now: string): string => `
  SELECT min(${RANK})
  FROM inbox_items
  WHERE org_key = ${org} AND session_key = ${key} AND status = 'pending' AND (expires_at IS NULL OR expires_at > ${now})`

/** `:now` decides which pending items have expired. */
export const SELECT_SESSION = `SELECT s.*, (${waitingSql('s.org_key', 's.key', ':now')}) AS waiting FROM sessions s`

/** The rank of a question. */
export const QUESTION = 1
const WAITING = [null, 'question', 'action', 'approval'] as const

const waitingOn = (row: StoredSession): SessionRow['waiting_on'] => WAITING[row.waiting ?? 0] ?? null

export const leaseOf = (
  row: Pick<StoredSession, 'worker_id' | 'epoch' | 'lease_until'>,
): SessionRow['lease'] =>
  row.worker_id === null ? null : { worker_id: row.worker_id, epoch: row.epoch, until: row.lease_until }
/** Epoch of the current lease, null if there is none. */
export const heldEpoch = ({ worker_id, epoch }: Pick<StoredSession, 'worker_id' | 'epoch'>): number | null =>
  worker_id === null ? null : epoch

export const toSessionRow = (row: StoredSession): SessionRow => ({
  id: row.id,
  agent: row.agent,
  channel: row.channel,
  status: row.status,
  state: sessionState({
    status: row.status,
    waiting_on: waitingOn(row),
    has_work: hasWork(row),
    wake_id: row.wake_id,
    asked_id: row.asked_id,
  }),
  waiting_on: waitingOn(row),
  title: row.title,
  model: row.model,
  parent_id: row.parent_id,
  last_event_id: row.last_id,
  message_count: row.message_count,
  tool_call_count: row.tool_call_count,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cost_usd: row.cost_usd,
  unpriced: row.unpriced === 1,
  created_by: row.created_by,
  created_by_kind: row.created_by_kind,
  org_id: row.org_id,
  config: JSON.parse(row.config) as Record<string, unknown>,
  created_at: row.created_at,
  updated_at: row.updated_at,
  cursor: row.cursor,
  wake_id: row.wake_id,
  lease: leaseOf(row),
})

/** A saga that must be rolled back is work whatever the status. */
export const hasWork = (row: StoredSession): boolean =>
  row.saga === 2 || (row.status === 'active' && row.wake_id > row.cursor)

/** Inbox items as they are stored, and their conversion for the interface. */
import type { InboxItem, Principal } from '@cairn/protocol'
import { deciderKeys } from '@cairn/protocol/words'

/** The principal that decided an item. */
export type Decider = Pick<Principal, 'kind' | 'id'>

export type StoredItem = {
  seq: number
  id: string
  session_key: number
  session_id: string
  /** Not columns: computed by BESIDE_SQL. */
  root_session_id: string
  agent: string
  session_title: string | null
  org_id: string
  created_by: string
  source_event_id: number
  kind: InboxItem['kind']
  status: InboxItem['status']
  title: string
  body: string | null
  payload: string
  private: string
  tool_call_id: string | null
  decision: string | null
  read_at: number | null
  created_at: number
  expires_at: number | null
  responded_at: number | null
  decided_by: string | null
  decided_by_kind: Decider['kind'] | null
}

/** Computed columns of an item: data of its session, and the root of the session's tree. */
export const BESIDE_SQL = `
  coalesce((SELECT l.root_id FROM links l
    WHERE l.org_key = inbox_items.org_key AND l.child_id = inbox_items.session_id),
    inbox_items.session_id) AS root_session_id,
    (SELECT s.agent FROM sessions s
    WHERE s.org_key = inbox_items.org_key AND s.key = inbox_items.session_key) AS agent,
    (SELECT s.title FROM sessions s
    WHERE s.org_key = inbox_items.org_key AND s.key = inbox_items.session_key) AS session_title`

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/** A pending item past its time counts as expired, without a write. */
export const statusAt = (row: StoredItem, now: number): InboxItem['status'] =>
  row.status === 'pending' && row.expires_at !== null && row.expires_at <= now ? 'expired' : row.status
/** The same in SQL, with the time as `:now`. */
export const STATUS_SQL = `CASE WHEN status = 'pending' AND expires_at <= :now THEN 'expired' ELSE status END`

export const toInboxItem = (row: StoredItem, now: number): InboxItem => ({
  id: row.id,
  session_id: row.session_id,
  root_session_id: row.root_session_id,
  agent: row.agent,
  session_title: row.session_title,
  source_event_id: row.source_event_id,
  kind: row.kind,
  status: statusAt(row, now),
  title: row.title,
  body: row.body,
  payload: JSON.parse(row.payload) as Record<string, unknown>,
  decision: row.decision,
  read_at: isoOrNull(row.read_at),
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
  responded_at: isoOrNull(row.responded_at),
  ...(row.decided_by !== null && row.decided_by_kind !== null
    ? deciderKeys({ kind: row.decided_by_kind, id: row.decided_by })
    : {}),
})

/** With the owner, for checks of access, and what is never shown. */
export type ItemWithOwner = InboxItem & {
  org_id: string
  created_by: string
  private: Record<string, string>
}
export const toItemWithOwner = (row: StoredItem, now: number): ItemWithOwner => ({
  ...toInboxItem(row, now),
  org_id: row.org_id,
  created_by: row.created_by,
  private: JSON.parse(row.private) as Record<string, string>,
})

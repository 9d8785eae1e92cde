/** Inbox items: what a session asks of a person, and the answer. */
import type { InboxItem, InboxKind } from '@cairn/protocol'
import { Refusing } from '../../engine/refusing.ts'
import { modeOf, redactString } from '../../engine/redact-json.ts'
import type { Redact } from '../../engine/redact.ts'
import type { ChangeNamed, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'
import { type Decider, type ItemWithOwner, statusAt, type StoredItem } from './stored-item.ts'

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

export type InboxQuery = {
  org_id: string
  created_by?: string
  session_id?: string
  /** With `session_id`: includes the items of its descendants. */
  descendants?: true
  status?: readonly InboxItem['status'][]
  kind?: readonly InboxKind[]
  limit: number
  cursor?: string
}

/** A query of the store itself: without an organisation, it covers all. */
export type AnyInboxQuery = Omit<InboxQuery, 'org_id'> & Partial<Pick<InboxQuery, 'org_id'>>
export const pendingGates = (cursor: string | undefined): AnyInboxQuery => ({
  kind: ['governance_gate'],
  status: ['pending'],
  limit: 100,
  ...(cursor === undefined ? {} : { cursor }),
})

export interface InboxWrites {
  /** Marks an inbox item as read. */
  markRead(itemId: string): Promise<InboxItem | null>
}
export interface InboxReads {
  /** `private` is what `inbox.open` supplied; empty by default. */
  get(itemId: string): Promise<ItemWithOwner | null>
  list(query: InboxQuery): Promise<{ items: InboxItem[]; next_cursor: string | null }>
  /** Undecided approvals of all organisations: for the service itself, never for a caller. */
  listPendingGates(cursor?: string): Promise<{ items: InboxItem[]; next_cursor: string | null }>
}

export type InboxChange =
  /** Opens an item for the event that carries the change. */
  | { do: 'inbox.open'; item: NewInboxItem }
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
  /**
   * Takes an acknowledgement back: the item is pending again. Rejected with `already_answered` unless it was
   * acknowledged.
   */
  | { do: 'inbox.reopen'; id: string }
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

type OpenItem = {
  do: 'inbox.open'
  /** Index of the event in its commit. */
  event: number
  item: Omit<NewInboxItem, 'payload' | 'private'> & { payload: string; private: string }
}
/** With texts as JSON, redacted. */
export type EncodedInboxChange = OpenItem | Exclude<InboxChange, { do: 'inbox.open' }>

function redactItem(
  { item }: ChangeNamed<InboxChange, 'inbox.open'>,
  redact: Redact,
  event: number,
): OpenItem {
  const mode = modeOf(`inbox.${item.kind}`)
  const title = redactString(redact, item.title)
  const body = item.body === null ? null : redactString(redact, item.body, mode)
  return {
    do: 'inbox.open',
    event,
    item: {
      ...item,
      title,
      body,
      payload: redact(JSON.stringify(item.payload), mode),
      private: JSON.stringify(item.private ?? {}),
    },
  }
}

export type InboxResource = Resource<InboxChange, InboxReads, EncodedInboxChange, InboxWrites>

export const inboxChanges: InboxResource['changes'] = {
  'inbox.open': { redact: redactItem },
  'inbox.answer': {},
  'inbox.answer_call': {},
  'inbox.reopen': {},
  'inbox.expire_all': {},
  'inbox.expire_waiting': {},
  'inbox.expire_call': {},
}

/**
 * True if the item can still be answered. Only the server expires items, after their time; an answer that
 * late is rejected.
 */
export const isOpen = (
  item: StoredItem,
  row: StoredSession,
  at: number,
  status: StoredItem['status'],
): boolean =>
  item.session_key === row.key && (status === 'expired' ? item.status : statusAt(item, at)) === 'pending'

/** What an answer does to an item; `what` names the item in the refusal. */
export type ItemAnswer = {
  decision: string
  status: StoredItem['status']
  by?: Decider | undefined
  what: string
}

export const answered = (row: StoredSession, what: string, item: StoredItem | undefined): Refusing =>
  new Refusing('already_answered', `[commit] ${what} of session ${row.id} is not pending`, row, item ?? null)

export const notAcknowledged = (row: StoredSession, id: string): Refusing =>
  new Refusing(
    'already_answered',
    `[commit] inbox item ${id} of session ${row.id} is not acknowledged`,
    row,
    null,
  )

export const itemOfCall = ({ kind, tool_call_id }: { kind: InboxKind; tool_call_id: string }): string =>
  `the ${kind} item of call ${tool_call_id}`

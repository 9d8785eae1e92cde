/** Inbox items on Postgres; changes run under the lock of their session. */
import { addToDirectory, makeKey, orgNamed, orgOf } from '../../engine/directory.ts'
import { page, parseCursor } from '../../engine/listing.ts'
import type { Ask, ChangeContext, ChangedItem, PostgresDeps } from '../../engine/resource.ts'
import { EXPIRES_WITH_STOP } from '../../engine/session-rows.ts'
import type { Rows, Statement, Value } from '../../postgres/connections.ts'
import { conditions, createListings } from '../../engine/numbered-values.ts'
import { descendantsSql } from '../links/row.ts'
import {
  answered,
  type AnyInboxQuery,
  type InboxReads,
  type InboxResource,
  isOpen,
  type ItemAnswer,
  itemOfCall,
  notAcknowledged,
  pendingGates,
} from './row.ts'
import { BESIDE_SQL, type StoredItem, toInboxItem, toItemWithOwner } from './stored-item.ts'

/** The server's clock, which all processes share. */
const CHANGED_NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const OPEN: Statement = {
  name: 'open_item',
  text: `
    WITH entry AS (${addToDirectory('item', '$1', '$15')})
    INSERT INTO inbox_items (id, session_key, session_id, org_id, created_by, source_event_id, kind, status,
      title, body, payload, private, tool_call_id, created_at, expires_at, changed_at, org_key, seq)
    SELECT $1, $2::bigint, $3, $4, $5, $6::bigint, $7, 'pending', $8, $9, $10, $11, $12, $13::bigint,
      $14::bigint, ${CHANGED_NOW}, $15,
      greatest($16::bigint, (SELECT coalesce(max(seq), 0) + 1 FROM inbox_items WHERE org_key = $15))
    FROM entry
    RETURNING id, changed_at`,
}
const ITEM: Statement = {
  name: 'item',
  text: `
    SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE org_key = ${orgOf('item', '$1')} AND id = $1`,
}
const ITEM_TO_ANSWER: Statement = {
  name: 'item_to_answer',
  text: `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE org_key = $1 AND id = $2`,
}
const ITEM_OF_CALL: Statement = {
  name: 'item_of_call',
  text: `
    SELECT *, ${BESIDE_SQL} FROM inbox_items
    WHERE org_key = $1 AND session_key = $2 AND tool_call_id = $3 AND kind = $4
    ORDER BY status = 'pending' DESC, seq DESC LIMIT 1`,
}
const ANSWER: Statement = {
  name: 'answer_item',
  text: `
    UPDATE inbox_items
    SET status = $1, decision = $2, responded_at = $3, decided_by = $4, decided_by_kind = $5,
      changed_at = ${CHANGED_NOW}
    WHERE org_key = $6 AND id = $7 AND status = 'pending'
    RETURNING id, changed_at`,
}
const REOPEN: Statement = {
  name: 'reopen_item',
  text: `
    UPDATE inbox_items
    SET status = 'pending', decision = NULL, responded_at = NULL, decided_by = NULL, decided_by_kind = NULL,
      changed_at = ${CHANGED_NOW}
    WHERE org_key = $1 AND session_key = $2 AND id = $3 AND status = 'acknowledged'
    RETURNING id, changed_at`,
}
const EXPIRE = `
    UPDATE inbox_items SET status = 'expired', decision = $1, responded_at = $2, changed_at = ${CHANGED_NOW}
    WHERE org_key = $3 AND session_key = $4 AND status = 'pending'`
const EXPIRE_ALL: Statement = { name: 'expire_items', text: `${EXPIRE} RETURNING id, changed_at` }
const EXPIRE_WAITING: Statement = {
  name: 'expire_waiting_items',
  text: `${EXPIRE} AND ${EXPIRES_WITH_STOP} RETURNING id, changed_at`,
}
const MARK_READ: Statement = {
  name: 'mark_read',
  text: `
    UPDATE inbox_items SET read_at = coalesce(read_at, $1), changed_at = ${CHANGED_NOW}
    WHERE org_key = ${orgOf('item', '$2')} AND id = $2
    RETURNING *, ${BESIDE_SQL}`,
}
/** A pending item past its time counts as expired, without a write. */
const statusSql = (now: string): string =>
  `CASE WHEN status = 'pending' AND expires_at <= ${now} THEN 'expired' ELSE status END`

const changedItems = (rows: Rows): ChangedItem[] =>
  rows.map(row => ({ id: String(row['id']), at: Number(row['changed_at']) }))

async function answer(
  ask: Ask,
  { row, at }: ChangeContext,
  [found]: Rows,
  { decision, status, by, what }: ItemAnswer,
): Promise<readonly ChangedItem[]> {
  const item = found as StoredItem | undefined
  if (item === undefined || !isOpen(item, row, at, status)) throw answered(row, what, item)
  const values = [status, decision, at, by?.id ?? null, by?.kind ?? null, row.org_key, item.id]
  const changed = changedItems(await ask(ANSWER, values))
  if (changed.length === 0) throw answered(row, what, item)
  return changed
}

export const inboxOnPostgres: InboxResource['postgres'] = {
  changes: {
    async 'inbox.open'(ask, { event, item }, { row, at, first }) {
      const opened = changedItems(
        await ask(OPEN, [
          item.id,
          row.key,
          row.id,
          row.org_id,
          row.created_by,
          first + event,
          item.kind,
          item.title,
          item.body,
          item.payload,
          item.private,
          item.tool_call_id,
          at,
          item.expires_at,
          row.org_key,
          makeKey(at),
        ]),
      )
      if (opened.length === 0) throw new Error(`[commit] inbox item ${item.id} exists already`)
      return opened
    },
    'inbox.answer': async (ask, { id, decision, status, decided_by: by }, context) =>
      answer(ask, context, await ask(ITEM_TO_ANSWER, [context.row.org_key, id]), {
        decision,
        status,
        by,
        what: `inbox item ${id}`,
      }),
    async 'inbox.answer_call'(ask, { tool_call_id, kind, decision, decided_by: by }, context) {
      const found = await ask(ITEM_OF_CALL, [context.row.org_key, context.row.key, tool_call_id, kind])
      const what = itemOfCall({ kind, tool_call_id })
      return answer(ask, context, found, { decision, status: 'responded', by, what })
    },
    async 'inbox.reopen'(ask, { id }, { row }) {
      const reopened = changedItems(await ask(REOPEN, [row.org_key, row.key, id]))
      if (reopened.length === 0) throw notAcknowledged(row, id)
      return reopened
    },
    'inbox.expire_all': async (ask, { decision }, { row, at }) =>
      changedItems(await ask(EXPIRE_ALL, [decision, at, row.org_key, row.key])),
    'inbox.expire_waiting': async (ask, { decision }, { row, at }) =>
      changedItems(await ask(EXPIRE_WAITING, [decision, at, row.org_key, row.key])),
    async 'inbox.expire_call'(ask, { tool_call_id, kind, decision }, context) {
      const found = await ask(ITEM_OF_CALL, [context.row.org_key, context.row.key, tool_call_id, kind])
      const item = found[0] as StoredItem | undefined
      if (item === undefined || item.status === 'expired') return []
      const what = itemOfCall({ kind, tool_call_id })
      return answer(ask, context, found, { decision, status: 'expired', what })
    },
  },

  store({ db, now, write, itemChanged }) {
    const list = createList(db)
    return {
      async markRead(itemId) {
        const at = now()
        const [row] = (await write(MARK_READ, [at, itemId], { repeatable: true })) as (StoredItem & {
          changed_at: number
        })[]
        if (row === undefined) return null
        itemChanged(row.org_id, { id: row.id, at: row.changed_at })
        return toInboxItem(row, at)
      },
      async get(id) {
        const [row] = (await db.query(ITEM, [id], { repeatable: true })) as StoredItem[]
        return row === undefined ? null : toItemWithOwner(row, now())
      },
      list: query => list(query, now()),
      listPendingGates: cursor => list(pendingGates(cursor), now()),
    }
  },
}

function createList(db: PostgresDeps['db']) {
  const listing = createListings('inbox')
  return async (query: AnyInboxQuery, now: number): ReturnType<InboxReads['list']> => {
    const values: Value[] = [query.limit + 1]
    const { where, add } = conditions(values)
    if (query.org_id !== undefined) add(query.org_id, org => `org_key = ${orgNamed(org)}`)
    add(parseCursor(query.cursor), before => `seq < ${before}`)
    if (query.created_by !== undefined) add(query.created_by, creator => `created_by = ${creator}`)
    if (query.session_id !== undefined)
      add(query.session_id, session => {
        const own = `org_key = ${orgOf('session', session)}`
        return query.descendants === true
          ? `${own} AND session_id IN (${descendantsSql(session)} SELECT id FROM below UNION SELECT ${session})`
          : `${own} AND session_id = ${session}`
      })
    if (query.kind !== undefined) add([...query.kind], kind => `kind = ANY(${kind}::text[])`)
    if (query.status !== undefined) {
      values.push(now)
      const at = `$${values.length}`
      add([...query.status], status => `${statusSql(at)} = ANY(${status}::text[])`)
    }
    const statement = listing(
      `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE ${where.join(' AND ')} ORDER BY seq DESC LIMIT $1`,
    )
    const { found, next_cursor } = page(
      await db.query(statement, values, { repeatable: true }),
      query.limit,
      row => Number(row['seq']),
      row => toInboxItem(row as StoredItem, now),
    )
    return { items: found, next_cursor }
  }
}

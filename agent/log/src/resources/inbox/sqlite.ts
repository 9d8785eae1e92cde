/** Inbox items on the embedded store. */
import type { InboxItem } from '@cairn/protocol'
import { addToDirectory, makeKey, orgNamed, orgOf } from '../../engine/directory.ts'
import { page, parseCursor } from '../../engine/listing.ts'
import type { ChangeContext } from '../../engine/resource.ts'
import { EXPIRES_WITH_STOP } from '../../engine/session-rows.ts'
import type { Db, SqlValue, Statement } from '../../sqlite/adapter.ts'
import { descendantsSql } from '../links/row.ts'
import {
  answered,
  type AnyInboxQuery,
  type InboxResource,
  isOpen,
  type ItemAnswer,
  itemOfCall,
  notAcknowledged,
  pendingGates,
} from './row.ts'
import { BESIDE_SQL, STATUS_SQL, type StoredItem, toInboxItem, toItemWithOwner } from './stored-item.ts'

const ITEM = `
  SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE org_key = ${orgOf('item', '?1')} AND id = ?1`

function prepareChanges(db: Db) {
  const open = db.prepare(`
    INSERT INTO inbox_items (org_key, seq, id, session_key, session_id, org_id, created_by, source_event_id, kind, status,
      title, body, payload, private, tool_call_id, created_at, expires_at)
    VALUES (?1, max(?2, (SELECT coalesce(max(seq), 0) + 1 FROM inbox_items WHERE org_key = ?1)),
      ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11, ?12, ?13, ?14, ?15, ?16)`)
  const enter = db.prepare(addToDirectory('item', '?', '?'))
  const item = db.prepare(`SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE org_key = ? AND id = ?`)
  const ofCall = db.prepare(`
    SELECT *, ${BESIDE_SQL} FROM inbox_items
    WHERE org_key = ? AND session_key = ? AND tool_call_id = ? AND kind = ?
    ORDER BY status = 'pending' DESC, seq DESC LIMIT 1`)
  const answerItem = db.prepare(`
    UPDATE inbox_items
    SET status = ?, decision = ?, responded_at = ?, decided_by = ?, decided_by_kind = ?
    WHERE org_key = ? AND id = ? AND status = 'pending'
    RETURNING id`)
  const reopenItem = db.prepare(`
    UPDATE inbox_items
    SET status = 'pending', decision = NULL, responded_at = NULL, decided_by = NULL, decided_by_kind = NULL
    WHERE org_key = ? AND session_key = ? AND id = ? AND status = 'acknowledged'
    RETURNING id`)
  const EXPIRE = `
    UPDATE inbox_items SET status = 'expired', decision = ?, responded_at = ?
    WHERE org_key = ? AND session_key = ? AND status = 'pending'`
  const expireAll = db.prepare(`${EXPIRE} RETURNING id`)
  const expireWaiting = db.prepare(`${EXPIRE} AND ${EXPIRES_WITH_STOP} RETURNING id`)
  return { open, enter, item, ofCall, answerItem, reopenItem, expireAll, expireWaiting }
}

export const inboxOnSqlite: InboxResource['sqlite'] = {
  changes(db) {
    const { open, enter, item, ofCall, answerItem, reopenItem, expireAll, expireWaiting } = prepareChanges(db)
    function answer(
      { row, at }: ChangeContext,
      found: StoredItem | undefined,
      { decision, status, by, what }: ItemAnswer,
    ): readonly string[] {
      if (
        found === undefined ||
        !isOpen(found, row, at, status) ||
        answerItem.get(status, decision, at, by?.id ?? null, by?.kind ?? null, row.org_key, found.id) ===
          undefined
      )
        throw answered(row, what, found)
      return [found.id]
    }
    return {
      'inbox.open'({ event, item: opened }, { row, at, first }) {
        if (enter.get(opened.id, row.org_key) === undefined)
          throw new Error(`[commit] inbox item ${opened.id} exists already`)
        open.run(
          row.org_key,
          makeKey(at),
          opened.id,
          row.key,
          row.id,
          row.org_id,
          row.created_by,
          first + event,
          opened.kind,
          opened.title,
          opened.body,
          opened.payload,
          opened.private,
          opened.tool_call_id,
          at,
          opened.expires_at,
        )
        return [opened.id]
      },
      'inbox.answer'({ id, decision, status, decided_by: by }, context) {
        const found = item.get(context.row.org_key, id) as StoredItem | undefined
        return answer(context, found, { decision, status, by, what: `inbox item ${id}` })
      },
      'inbox.answer_call'({ tool_call_id, kind, decision, decided_by: by }, context) {
        const found = ofCall.get(context.row.org_key, context.row.key, tool_call_id, kind) as
          StoredItem | undefined
        const what = itemOfCall({ kind, tool_call_id })
        return answer(context, found, { decision, status: 'responded', by, what })
      },
      'inbox.reopen'({ id }, { row }) {
        if (reopenItem.get(row.org_key, row.key, id) === undefined) throw notAcknowledged(row, id)
        return [id]
      },
      'inbox.expire_all': ({ decision }, { row, at }) =>
        expireAll.all(decision, at, row.org_key, row.key).map(({ id }) => String(id)),
      'inbox.expire_waiting': ({ decision }, { row, at }) =>
        expireWaiting.all(decision, at, row.org_key, row.key).map(({ id }) => String(id)),
      'inbox.expire_call'({ tool_call_id, kind, decision }, context) {
        const found = ofCall.get(context.row.org_key, context.row.key, tool_call_id, kind) as
          StoredItem | undefined
        if (found === undefined || found.status === 'expired') return []
        const what = itemOfCall({ kind, tool_call_id })
        return answer(context, found, { decision, status: 'expired', what })
      },
    }
  },

  writes(db, itemChanged) {
    const markRead = db.prepare(`
      UPDATE inbox_items SET read_at = coalesce(read_at, ?1)
      WHERE org_key = ${orgOf('item', '?2')} AND id = ?2 RETURNING *, ${BESIDE_SQL}`)
    return {
      markRead(at: number, itemId: string): InboxItem | null {
        const row = markRead.get(at, itemId) as StoredItem | undefined
        if (row === undefined) return null
        itemChanged(row.org_id, row.id)
        return toInboxItem(row, at)
      },
    }
  },

  reads(db, now) {
    const item = db.prepare(ITEM)
    const statements = new Map<string, Statement>()
    /** Listings have few shapes; each is prepared once. */
    function prepared(sql: string): Statement {
      const found = statements.get(sql) ?? db.prepare(sql)
      statements.set(sql, found)
      return found
    }
    function list(query: AnyInboxQuery, at: number): { items: InboxItem[]; next_cursor: string | null } {
      const where = ['seq < :before']
      const values: Record<string, SqlValue> = { before: parseCursor(query.cursor), limit: query.limit + 1 }
      if (query.org_id !== undefined) {
        where.push(`org_key = ${orgNamed(':org_id')}`)
        values['org_id'] = query.org_id
      }
      if (query.created_by !== undefined) {
        where.push('created_by = :created_by')
        values['created_by'] = query.created_by
      }
      if (query.session_id !== undefined) {
        where.push(`org_key = ${orgOf('session', ':session_id')}`)
        where.push(
          query.descendants === true
            ? `session_id IN (${descendantsSql(':session_id')} SELECT id FROM below UNION SELECT :session_id)`
            : 'session_id = :session_id',
        )
        values['session_id'] = query.session_id
      }
      if (query.kind !== undefined) {
        where.push('kind IN (SELECT value FROM json_each(:kind))')
        values['kind'] = JSON.stringify(query.kind)
      }
      if (query.status !== undefined) {
        where.push(`${STATUS_SQL} IN (SELECT value FROM json_each(:status))`)
        values['status'] = JSON.stringify(query.status)
        values['now'] = at
      }
      const rows = prepared(`
        SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE ${where.join(' AND ')}
        ORDER BY seq DESC LIMIT :limit`).all(values) as StoredItem[]
      const { found, next_cursor } = page(
        rows,
        query.limit,
        row => row.seq,
        row => toInboxItem(row, at),
      )
      return { items: found, next_cursor }
    }
    return {
      get(id) {
        const row = item.get(id) as StoredItem | undefined
        return row === undefined ? null : toItemWithOwner(row, now())
      },
      list: query => list(query, now()),
      listPendingGates: cursor => list(pendingGates(cursor), now()),
    }
  },

  store: ({ write }) => ({
    markRead: async itemId => (await write('markRead', itemId)) as InboxItem | null,
  }),
}

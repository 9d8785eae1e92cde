/** Reads inbox items on Postgres. */
import type { InboxItem } from '@cairn/protocol'
import { BESIDE_SQL, type StoredItem, toInboxItem } from '../inbox-rows.ts'
import { descendantsSql } from '../link-sql.ts'
import { page, parseCursor } from '../listing.ts'
import type { AnyInboxQuery, LogStore } from '../store.ts'
import type { Rows, Statement, Value } from './connections.ts'
import { conditions } from './listings.ts'

const ITEM: Statement = { name: 'item', text: `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE id = $1` }
/** A pending item past its time counts as expired, without a write. */
const STATUS_SQL = (now: string): string =>
  `CASE WHEN status = 'pending' AND expires_at <= ${now} THEN 'expired' ELSE status END`

export const createInboxReader = (
  ask: (statement: Statement, values: readonly Value[]) => Promise<Rows>,
  listing: (text: string) => Statement,
) => ({
  async getInboxItem(id: string, now: number): Promise<Awaited<ReturnType<LogStore['getInboxItem']>>> {
    const [row] = (await ask(ITEM, [id])) as StoredItem[]
    return row === undefined
      ? null
      : {
          ...toInboxItem(row, now),
          org_id: row.org_id,
          created_by: row.created_by,
          private: JSON.parse(row.private) as Record<string, string>,
        }
  },

  async listInbox(
    query: AnyInboxQuery,
    now: number,
  ): Promise<{ items: InboxItem[]; next_cursor: string | null }> {
    const values: Value[] = [query.limit + 1]
    const { where, add } = conditions(values)
    if (query.org_id !== undefined) add(query.org_id, org => `org_id = ${org}`)
    add(parseCursor(query.cursor), before => `seq < ${before}`)
    if (query.created_by !== undefined) add(query.created_by, creator => `created_by = ${creator}`)
    if (query.session_id !== undefined)
      add(query.session_id, session =>
        query.descendants === true
          ? `session_id IN (${descendantsSql(session)} SELECT id FROM below UNION SELECT ${session})`
          : `session_id = ${session}`,
      )
    if (query.kind !== undefined) add([...query.kind], kind => `kind = ANY(${kind}::text[])`)
    if (query.status !== undefined) {
      values.push(now)
      const at = `$${values.length}`
      add([...query.status], status => `${STATUS_SQL(at)} = ANY(${status}::text[])`)
    }
    const rows = await ask(
      listing(
        `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE ${where.join(' AND ')} ORDER BY seq DESC LIMIT $1`,
      ),
      values,
    )
    const { found, next_cursor } = page(
      rows,
      query.limit,
      row => Number(row['seq']),
      row => toItem(row, now),
    )
    return { items: found, next_cursor }
  },
})

const toItem = (row: Rows[number], now: number): InboxItem => toInboxItem(row as StoredItem, now)

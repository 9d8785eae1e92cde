/** Conditions and order of listings and searches of sessions: the same SQL for both stores. */
import type { SessionSort } from '@cairn/protocol'
import { AppError } from '@cairn/protocol/words'
import { orgNamed } from './directory.ts'
import { waitingSql } from './session-rows.ts'
import { stateSql } from './session-state.ts'
import type { SessionQuery } from '../session.ts'

/** How a store binds values in its statements. */
export type Binder = {
  /** The placeholder of a value. */
  value(value: string | number): string
  /** A condition that the column is one of these. */
  oneOf(column: string, values: readonly string[]): string
  /** The time that decides which items have expired. */
  now: string
}

/** The sort key of a listing, in descending order; the row's key breaks ties. */
const SORTS: Record<SessionSort, string> = {
  created: 's.key',
  updated: 's.updated_at',
  cost: 's.cost_usd',
}

type Filters = Omit<SessionQuery, 'limit' | 'cursor' | 'text' | 'sort'>

/** Conditions on the row `s`, joined with AND. */
export function sessionConditions(query: Filters, { value, oneOf, now }: Binder): string[] {
  const where = [`s.org_key = ${orgNamed(value(query.org_id))}`]
  if (query.created_by !== undefined) where.push(`s.created_by = ${value(query.created_by)}`)
  where.push(query.status === undefined ? `s.status <> 'archived'` : oneOf('s.status', query.status))
  if (query.parent_id === null) where.push('s.parent_id IS NULL')
  else if (query.parent_id !== undefined) where.push(`s.parent_id = ${value(query.parent_id)}`)
  if (query.agent !== undefined) where.push(oneOf('s.agent', query.agent))
  if (query.channel !== undefined) where.push(oneOf('s.channel', query.channel))
  if (query.min_cost_usd !== undefined) where.push(`s.cost_usd >= ${value(query.min_cost_usd)}`)
  if (query.since !== undefined) where.push(`s.updated_at >= ${value(query.since)}`)
  if (query.until !== undefined) where.push(`s.updated_at < ${value(query.until)}`)
  // The most expensive condition last: it queries the inbox.
  if (query.state !== undefined)
    where.push(oneOf(`(${stateSql(waitingSql('s.org_key', 's.key', now))})`, query.state))
  return where
}

/** Position in a listing: the key of its last row, and the value of its sort key. */
export type PageCursor = { key: number; by: number | null }

const CURSOR = /^(?:(?<by>-?\d{1,16}(?:\.\d{1,20})?(?:e-\d{1,3})?)_)?(?<key>[0-9a-z]{1,11})$/

/** A cursor of a listing with another sort key is as invalid as any other text. */
export function parsePageCursor(cursor: string | undefined, sort: SessionSort): PageCursor | null {
  if (cursor === undefined) return null
  const { by, key } = CURSOR.exec(cursor)?.groups ?? {}
  if (key === undefined || (by === undefined) !== (sort === 'created'))
    throw new AppError(
      'invalid_cursor',
      `cursor ${JSON.stringify(cursor)} is not one that a listing of this order gave out`,
    )
  return { key: Number.parseInt(key, 36), by: by === undefined ? null : Number(by) }
}

type Sorted = { key: number; updated_at: number; cost_usd: number }
export function cursorAfter({ key, updated_at, cost_usd }: Sorted, sort: SessionSort): string {
  const at = key.toString(36)
  return sort === 'created' ? at : `${sort === 'updated' ? updated_at : cost_usd}_${at}`
}

/** Restricts to rows after that position. */
export function afterCursor(place: PageCursor | null, sort: SessionSort, { value }: Binder): string[] {
  if (place === null) return []
  const key = value(place.key)
  if (place.by === null) return [`s.key < ${key}`]
  const by = value(place.by)
  return [`(${SORTS[sort]} < ${by} OR (${SORTS[sort]} = ${by} AND s.key < ${key}))`]
}

export const orderBy = (sort: SessionSort): string =>
  sort === 'created' ? 's.key DESC' : `${SORTS[sort]} DESC, s.key DESC`

/** Pages of listings, and the rows that they show, for every store. */
import type { SessionSort } from '@cairn/protocol'
import { AppError } from '@cairn/protocol/words'
import type { SessionRow } from '../session.ts'
import { cursorAfter } from './session-query.ts'
import { type StoredSession, toSessionRow } from './session-rows.ts'

const invalidCursor = (cursor: string): AppError =>
  new AppError('invalid_cursor', `cursor ${JSON.stringify(cursor)} is not one that a listing gave out`)

/** The cursor of a listing is the internal key of its last row, which is meaningless elsewhere. */
export function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^[0-9a-z]{1,11}$/.test(cursor)) throw invalidCursor(cursor)
  return Number.parseInt(cursor, 36)
}

/** `rows` has one more than the limit if there is a next page. */
export function page<R, T>(
  rows: readonly R[],
  limit: number,
  key: (row: R) => number,
  shape: (row: R) => T,
): { found: T[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  return {
    found: rows.slice(0, limit).map(shape),
    next_cursor: rows.length > limit && last !== undefined ? key(last).toString(36) : null,
  }
}

/** Position in a listing by time, newest first: the time and the id of its last row. */
export type TimedCursor = { at: number; id: string }
export function parseTimedCursor(cursor: string | undefined): TimedCursor {
  if (cursor === undefined) return { at: Number.MAX_SAFE_INTEGER, id: '' }
  const [, at, id] = /^([0-9a-z]{1,11})\.([\w-]{1,128})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw invalidCursor(cursor)
  return { at: Number.parseInt(at, 36), id }
}

/** A page of a listing by time; `rows` has one more than the limit if there is a next page. */
export function timedPage<R, T>(
  rows: readonly R[],
  limit: number,
  position: (row: R) => TimedCursor,
  shape: (row: R) => T,
): { found: T[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  const cursorOf = ({ at, id }: TimedCursor): string => `${at.toString(36)}.${id}`
  return {
    found: rows.slice(0, limit).map(shape),
    next_cursor: rows.length > limit && last !== undefined ? cursorOf(position(last)) : null,
  }
}

/** A page of sessions in that order; `rows` has one more than the limit if there is a next page. */
export function sortedPage(
  rows: StoredSession[],
  limit: number,
  sort: SessionSort,
): { sessions: SessionRow[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  return {
    sessions: rows.slice(0, limit).map(toSessionRow),
    next_cursor: rows.length > limit && last !== undefined ? cursorAfter(last, sort) : null,
  }
}

/**
 * Maximum sessions that one page of a search examines: a page may be short, or empty, and still name the
 * next.
 */
export const SEARCHED_AT_ONCE = 10_000

export type Searched = { key: number; id: string; agent: string; title: string | null }

/** True if title, agent and id together contain every word in any casing; the same on every store. */
function holdsWords(text: string): (row: Omit<Searched, 'key'>) => boolean {
  const plain = (given: string): string => given.normalize('NFKC').toLowerCase()
  const words = plain(text)
    .split(/\s+/)
    .filter(word => word !== '')
  return ({ id, agent, title }) => {
    const held = plain(`${title ?? ''}\n${agent}\n${id}`)
    return words.every(word => held.includes(word))
  }
}

/** Examines rows, newest first, until `limit` match or the maximum is examined. */
export function createSearch(text: string, limit: number) {
  const fits = holdsWords(text)
  const keys: number[] = []
  let looked = 0
  let last: number | null = null
  const isOver = (): boolean => keys.length >= limit || looked >= SEARCHED_AT_ONCE
  return {
    keys,
    isOver,
    look(row: Searched): void {
      looked += 1
      last = row.key
      if (fits(row)) keys.push(row.key)
    },
    /** Where the next page continues, if this one did not reach the end. */
    next: (): string | null => (isOver() && last !== null ? last.toString(36) : null),
  }
}

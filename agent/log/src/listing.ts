/** Pages of listings, and the shape of what they show, whatever stores it. */
import type { ArtifactMeta, SessionSort } from '@cairn/protocol'
import { AppError } from '@cairn/protocol/words'
import type { SessionRow } from './session.ts'
import { placeAfter } from './session-query.ts'
import { type StoredSession, toSessionRow } from './session-rows.ts'

/** A listing's cursor is the internal key of its last row, which no reader can use for anything else. */
export function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^[0-9a-z]{1,11}$/.test(cursor))
    throw new AppError(
      'invalid_cursor',
      `cursor ${JSON.stringify(cursor)} is not one that a listing gave out`,
    )
  return Number.parseInt(cursor, 36)
}

/** `rows` hold one more than the limit when there is a next page. */
export function page<R, T>(
  rows: R[],
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

/** A page of sessions in that order; `rows` hold one more than the limit when there is a next page. */
export function sortedPage(
  rows: StoredSession[],
  limit: number,
  sort: SessionSort,
): { sessions: SessionRow[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  return {
    sessions: rows.slice(0, limit).map(toSessionRow),
    next_cursor: rows.length > limit && last !== undefined ? placeAfter(last, sort) : null,
  }
}

/**
 * So many sessions one page of a search looks through at most: a page may be short, or empty, and still name
 * the next.
 */
export const SEARCHED_AT_ONCE = 10_000

export type Searched = { key: number; id: string; agent: string; title: string | null }

/** Whether title, agent and id together hold every word, whatever their case; the same on every store. */
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

/** Looks through rows, newest first, until `limit` fit or there was enough to look through. */
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
    /** Where the next page goes on, if this one did not come to the end. */
    next: (): string | null => (isOver() && last !== null ? last.toString(36) : null),
  }
}

export type StoredArtifact = Omit<ArtifactMeta, 'session_id' | 'created_at'> & { created_at: number }

export const toArtifactMeta = (row: StoredArtifact, sessionId: string): ArtifactMeta => ({
  artifact_id: row.artifact_id,
  session_id: sessionId,
  name: row.name,
  kind: row.kind,
  version: row.version,
  size: row.size,
  created_at: new Date(row.created_at).toISOString(),
})

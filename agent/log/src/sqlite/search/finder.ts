/**
 * Finds sessions in the index of the embedded store. FTS5 returns matches newest first, one row at a time, so
 * a page reads no more than it needs; any other order needs all matches.
 */
import { namedValues } from '../named-values.ts'
import {
  afterCursor,
  orderBy,
  cursorAfter,
  parsePageCursor,
  sessionConditions,
} from '../../engine/session-query.ts'
import { SELECT_SESSION, type StoredSession, toSessionRow } from '../../engine/session-rows.ts'
import type { SessionRow } from '../../session.ts'
import type { Db } from '../adapter.ts'
import type { Span } from '../../resources/search/hits.ts'
import type { SearchQuery } from '../../resources/search/row.ts'
import type { Wanted } from '../../resources/search/words.ts'

/** Maximum texts that one page examines: most matches may belong to other owners. */
const SCANNED_AT_ONCE = 40_000
/** Completions of a prefix: the shortest words that start with it. */
const MAX_COMPLETIONS = 32
/** Greater than the position of every session. */
const NEWEST = 2 ** 31 - 1

type PlacedSession = StoredSession & { pos: number }
/** A session, and its matching events, newest first; null if not all were read. */
type FoundRow = { row: PlacedSession; events: number[] | null }
type Page = { rows: FoundRow[]; next_cursor: string | null }
export type FoundRows = { found: { session: SessionRow; spans: Span[] }[]; next_cursor: string | null }

/** Every word must be in the text, and one of the completions of the prefix. */
function matchOf({ words, prefix }: Wanted, complete: (prefix: string) => string[]): string {
  const quoted = (word: string): string => `"${word}"`
  const all = words.map(quoted)
  if (prefix !== null) all.push(`(${[...new Set([prefix, ...complete(prefix)])].map(quoted).join(' OR ')})`)
  return all.join(' AND ')
}

/** Positions of sessions newest first, and events of one session in order. */
function prepareSearches(db: Db) {
  return {
    texts: db.prepare(`
      SELECT rowid >> 32 AS key, rowid & 4294967295 AS event_id
      FROM texts
      WHERE texts MATCH ? AND rowid < (? << 32)
      ORDER BY rowid DESC`),
    keys: db.prepare('SELECT DISTINCT rowid >> 32 AS key FROM texts WHERE texts MATCH ?'),
    events: db.prepare(`
      SELECT rowid & 4294967295 AS event_id
      FROM texts
      WHERE texts MATCH ?1 AND rowid BETWEEN (?2 << 32) AND (?2 << 32) + 4294967295
      ORDER BY rowid
      LIMIT ?3`),
    words: db.prepare(
      'SELECT word FROM vocabulary WHERE word > ? AND word < ? ORDER BY length(word), word LIMIT ?',
    ),
  }
}

export function createFinder(db: Db, lookedAtOnce = SCANNED_AT_ONCE) {
  const searches = prepareSearches(db)
  const complete = (prefix: string): string[] =>
    searches.words.all(prefix, `${prefix}\u{10ffff}`, MAX_COMPLETIONS).map(({ word }) => String(word))

  /**
   * Newest first, one after the other, until the page is full. A session's texts are adjacent, so its events
   * are collected on the way: looking them up by session would need a seek in every word's list.
   */
  function findNewest(query: SearchQuery, match: string, now: number): Page {
    const { binder, values } = namedValues(now)
    const where = sessionConditions(query, binder).join(' AND ')
    const one = db.prepare(`${SELECT_SESSION} WHERE s.pos = :key AND ${where}`)
    const before = parsePageCursor(query.cursor, 'created')?.key ?? NEWEST
    const rows: FoundRow[] = []
    let looked = 0
    let last: number | null = null
    let current: FoundRow | undefined
    for (const text of searches.texts.iterate(match, before)) {
      const key = Number(text['key'])
      if (key !== last) {
        if (last !== null && rows.length >= query.limit) return { rows, next_cursor: last.toString(36) }
        last = key
        const row = one.get({ ...values, key }) as PlacedSession | undefined
        current = row === undefined ? undefined : { row, events: [] }
        if (current !== undefined) rows.push(current)
      }
      looked += 1
      if (looked >= lookedAtOnce) {
        // The rest of this session was not read: its first events must be looked up.
        if (current !== undefined) current.events = null
        return { rows, next_cursor: key.toString(36) }
      }
      current?.events?.push(Number(text['event_id']))
    }
    return { rows, next_cursor: null }
  }

  /** Any other order: all matches are compared. */
  function findSorted(query: SearchQuery, match: string, now: number): Page {
    const { sort = 'created' } = query
    const { binder, values } = namedValues(now)
    const place = parsePageCursor(query.cursor, sort)
    const keys = searches.keys.all(match).map(({ key }) => Number(key))
    const where = [
      ...sessionConditions(query, binder),
      ...afterCursor(place, sort, binder),
      's.pos IN (SELECT value FROM json_each(:keys))',
    ].join(' AND ')
    const rows = db
      .prepare(`${SELECT_SESSION} WHERE ${where} ORDER BY ${orderBy(sort)} LIMIT :limit`)
      .all({ ...values, keys: JSON.stringify(keys), limit: query.limit + 1 }) as PlacedSession[]
    const last = rows[query.limit - 1]
    return {
      rows: rows.slice(0, query.limit).map(row => ({ row, events: null })),
      next_cursor: rows.length > query.limit && last !== undefined ? cursorAfter(last, sort) : null,
    }
  }

  /** Sessions, and their matching events: at most `hits` of each. */
  return (query: SearchQuery, wanted: Wanted, hits: number, now: number): FoundRows => {
    const match = matchOf(wanted, complete)
    const find = (query.sort ?? 'created') === 'created' ? findNewest : findSorted
    const { rows, next_cursor } = find(query, match, now)
    const eventsOf = (key: number): number[] =>
      searches.events.all(match, key, hits).map(({ event_id }) => Number(event_id))
    return {
      found: rows.map(({ row, events }) => ({
        session: toSessionRow(row),
        spans: (events?.slice(-hits).toReversed() ?? eventsOf(row.pos)).map(id => ({ from: id, to: id })),
      })),
      next_cursor,
    }
  }
}

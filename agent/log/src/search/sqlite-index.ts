/**
 * The index of the embedded store: a database file of its own beside the log's, so that nothing of it takes
 * turns with a commit. The log is attached for reading. One thread uses it.
 *
 * A text is a row of `texts` whose rowid is session key and event id: newest sessions last, their events in
 * order. FTS5 keeps the words alone, not where they stand; an excerpt is made from the event itself.
 */
import { readFileSync, rmSync } from 'node:fs'
import { namedValues } from '../named-values.ts'
import { createReader } from '../reader.ts'
import { afterPlace, orderBy, placeAfter, readPlace, sessionConditions } from '../session-query.ts'
import { SELECT_SESSION, type StoredSession, toSessionRow } from '../session-rows.ts'
import { type Db, isDamage, openDb } from '../sqlite-adapter.ts'
import type { SessionRow } from '../session.ts'
import type { Behind, Stretch } from './index-log.ts'
import type { SearchQuery, UsageQuery, UsageRow } from './search-store.ts'
import type { Span } from './hits.ts'
import type { Wanted } from './words.ts'

/** Sessions that one page looks at, at most: most of what was found may be somebody else's. */
const LOOKED_AT_ONCE = 4_000
/** Words that a prefix stands for: the shortest that begin with it. */
const MAX_COMPLETIONS = 32
/** Words that are known to be in the vocabulary. */
const KNOWN_WORDS = 50_000

/** Of another store, of another version, or ahead of a log that was put back: made again. */
function isCurrent(db: Db): boolean {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (user_version === 0) return false
  const [own] = db.prepare('SELECT store, version FROM made_for').all()
  const [store] = db.prepare('SELECT id FROM log.store_identity').all()
  const ahead = db
    .prepare(
      'SELECT 1 FROM progress p LEFT JOIN log.sessions s ON s.key = p.session_key ' +
        'WHERE s.key IS NULL OR p.through > s.last_id LIMIT 1',
    )
    .get()
  return own?.['store'] === store?.['id'] && own?.['version'] === VERSION && ahead === undefined
}

/** Raised whenever other words or sums are kept: then the index is made again. */
const VERSION = 1

function openIndex(path: string, log: string): Db {
  const db = openDb(path)
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -32768;
    PRAGMA journal_size_limit = 67108864;
  `)
  db.prepare('ATTACH ? AS log').run(log)
  return db
}

function build(db: Db): void {
  db.exec('BEGIN')
  db.exec(readFileSync(new URL('./search.sql', import.meta.url), 'utf8'))
  db.prepare('INSERT INTO made_for SELECT id, ? FROM log.store_identity').run(VERSION)
  db.exec('PRAGMA user_version = 1; COMMIT')
}

/** What is damaged, or of another store, is thrown away: all of it is in the log. */
function openFresh(path: string, log: string): Db {
  const remove = (): void => {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  }
  for (let again = true; ; again = false) {
    const db = openIndex(path, log)
    try {
      if (isCurrent(db)) return db
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    const isNew = (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version === 0
    if (isNew || !again) {
      build(db)
      return db
    }
    db.close()
    remove()
  }
}

/** Every word must be in the text, one of the completions of the prefix too. */
function matchOf({ words, prefix }: Wanted, complete: (prefix: string) => string[]): string {
  const quoted = (word: string): string => `"${word}"`
  const all = words.map(quoted)
  if (prefix !== null) all.push(`(${[...new Set([prefix, ...complete(prefix)])].map(quoted).join(' OR ')})`)
  return all.join(' AND ')
}

export function openSqliteIndex(path: string, log: string) {
  const db = openFresh(path, log)
  const reader = createReader(db)
  const keyOf = db.prepare('SELECT key FROM sessions WHERE id = ?')
  const addText = db.prepare('INSERT INTO texts (rowid, words) VALUES ((? << 32) | ?, ?)')
  const addWord = db.prepare('INSERT OR IGNORE INTO vocabulary (word) VALUES (?)')
  const addUsage = db.prepare(
    'INSERT INTO usage (day, org_id, created_by, agent, model, calls, input_tokens, output_tokens, ' +
      'cost_usd, unpriced_calls) SELECT ?, org_id, created_by, agent, ?, ?, ?, ?, ?, ? FROM sessions ' +
      'WHERE key = ? ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = ' +
      'input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens, ' +
      'cost_usd = cost_usd + excluded.cost_usd, unpriced_calls = unpriced_calls + excluded.unpriced_calls',
  )
  const begin = db.prepare('INSERT INTO progress (session_key, through) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const move = db.prepare('UPDATE progress SET through = ? WHERE session_key = ? AND through = ?')
  const behindAll = db.prepare(
    'SELECT s.id, p.through AS after FROM sessions s LEFT JOIN progress p ON p.session_key = s.key ' +
      'WHERE p.through IS NULL OR s.last_id > p.through ORDER BY s.key',
  )
  const behindOf = db.prepare(
    'SELECT s.id, p.through AS after FROM sessions s LEFT JOIN progress p ON p.session_key = s.key ' +
      'WHERE s.id IN (SELECT value FROM json_each(?)) AND (p.through IS NULL OR s.last_id > p.through) ' +
      'ORDER BY s.key',
  )
  const completions = db.prepare(
    'SELECT word FROM vocabulary WHERE word > ? AND word < ? ORDER BY length(word), word LIMIT ?',
  )
  const keysFound = db.prepare(
    'SELECT DISTINCT rowid >> 32 AS key FROM texts WHERE texts MATCH ? AND rowid < (? << 32) ORDER BY rowid DESC',
  )
  const eventsFound = db.prepare(
    'SELECT rowid & 4294967295 AS event_id FROM texts WHERE texts MATCH ?1 AND ' +
      'rowid BETWEEN (?2 << 32) AND (?2 << 32) + 4294967295 ORDER BY rowid LIMIT ?3',
  )
  const known = new Set<string>()
  const complete = (prefix: string): string[] =>
    completions.all(prefix, `${prefix}\u{10ffff}`, MAX_COMPLETIONS).map(({ word }) => String(word))

  function keepWords(words: readonly string[]): void {
    for (const word of words) {
      if (known.has(word)) continue
      if (known.size >= KNOWN_WORDS) known.clear()
      known.add(word)
      addWord.run(word)
    }
  }

  /** Newest first, one after the other, until the page is full. */
  function findNewest(query: SearchQuery, match: string, now: number): Page {
    const { binder, values } = namedValues(now)
    const where = sessionConditions(query, binder).join(' AND ')
    const one = db.prepare(`${SELECT_SESSION} WHERE s.key = :key AND ${where}`)
    const before = readPlace(query.cursor, 'created')?.key ?? 2 ** 31 - 1
    const found: StoredSession[] = []
    let looked = 0
    let last: number | null = null
    for (const row of keysFound.iterate(match, before)) {
      if (found.length >= query.limit || looked >= LOOKED_AT_ONCE)
        return { rows: found, next_cursor: last === null ? null : last.toString(36) }
      looked += 1
      last = Number(row['key'])
      const session = one.get({ ...values, key: last }) as StoredSession | undefined
      if (session !== undefined) found.push(session)
    }
    return { rows: found, next_cursor: null }
  }

  /** In another order: whatever was found is compared. */
  function findSorted(query: SearchQuery, match: string, now: number): Page {
    const { sort = 'created' } = query
    const { binder, values } = namedValues(now)
    const place = readPlace(query.cursor, sort)
    const keys = keysFound.all(match, 2 ** 31 - 1).map(({ key }) => Number(key))
    const where = [
      ...sessionConditions(query, binder),
      ...afterPlace(place, sort, binder),
      's.key IN (SELECT value FROM json_each(:keys))',
    ].join(' AND ')
    const rows = db
      .prepare(`${SELECT_SESSION} WHERE ${where} ORDER BY ${orderBy(sort)} LIMIT :limit`)
      .all({ ...values, keys: JSON.stringify(keys), limit: query.limit + 1 }) as StoredSession[]
    const last = rows[query.limit - 1]
    return {
      rows: rows.slice(0, query.limit),
      next_cursor: rows.length > query.limit && last !== undefined ? placeAfter(last, sort) : null,
    }
  }

  return {
    logs: {
      read: async (...args: Parameters<typeof reader.read>) => reader.read(...args),
      getSession: async (id: string) => reader.getSession(id, 0),
    },

    behind: (ids: readonly string[] | null): Behind[] =>
      (ids === null ? behindAll.all() : behindOf.all(JSON.stringify(ids))) as Behind[],

    add({ session_id, after, through, texts, usage }: Stretch): boolean {
      const key = Number(keyOf.get(session_id)?.['key'])
      db.exec('BEGIN')
      try {
        const { changes } = after === null ? begin.run(key, through) : move.run(through, key, after)
        if (Number(changes) === 1) {
          for (const { event_id, words } of texts) {
            addText.run(key, event_id, words.join(' '))
            keepWords(words)
          }
          for (const { day, model, calls, input_tokens, output_tokens, cost_usd, unpriced_calls } of usage)
            addUsage.run(day, model, calls, input_tokens, output_tokens, cost_usd, unpriced_calls, key)
        }
        db.exec('COMMIT')
        return Number(changes) === 1
      } catch (error) {
        known.clear()
        db.exec('ROLLBACK')
        throw error
      }
    },

    /** Sessions, and which of their events hold the words. */
    find(query: SearchQuery, wanted: Wanted, hits: number, now: number): FoundRows {
      const match = matchOf(wanted, complete)
      const { rows, next_cursor } =
        (query.sort ?? 'created') === 'created'
          ? findNewest(query, match, now)
          : findSorted(query, match, now)
      return {
        found: rows.map(row => ({
          session: toSessionRow(row),
          spans: eventsFound
            .all(match, row.key, hits)
            .map(({ event_id }) => ({ from: Number(event_id), to: Number(event_id) })),
        })),
        next_cursor,
      }
    },

    usage({ org_id, since, until, by }: UsageQuery): UsageRow[] {
      const column = { agent: 'agent', user: 'created_by', model: 'model' }[by]
      return db
        .prepare(
          `SELECT day, ${column} AS name, sum(calls) AS calls, sum(input_tokens) AS input_tokens, ` +
            'sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd, sum(unpriced_calls) AS ' +
            `unpriced_calls FROM usage WHERE org_id = ? AND day >= ? AND day < ? GROUP BY day, ${column} ` +
            `ORDER BY day, ${column}`,
        )
        .all(org_id, since, until) as UsageRow[]
    },

    close: () => db.close(),
  }
}
type Page = { rows: StoredSession[]; next_cursor: string | null }
export type FoundRows = { found: { session: SessionRow; spans: Span[] }[]; next_cursor: string | null }
export type SqliteIndex = ReturnType<typeof openSqliteIndex>

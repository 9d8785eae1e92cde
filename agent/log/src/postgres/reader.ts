/** Reads on Postgres: short statements on the pool, which see committed data only. */
import type { EventId, EventType } from '@cairn/protocol'
import { keyOf, orgNamed } from '../engine/directory.ts'
import { createSearch, type Searched, sortedPage } from '../engine/listing.ts'
import { createListings, numberedValues } from '../engine/numbered-values.ts'
import {
  afterCursor,
  orderBy,
  type PageCursor,
  parsePageCursor,
  sessionConditions,
} from '../engine/session-query.ts'
import { toSessionRow } from '../engine/session-rows.ts'
import type { SessionQuery, SessionRow } from '../session.ts'
import type { StoredEvent } from '../store.ts'
import type { Database, Rows, Statement, Value } from './connections.ts'
import { SELECT_SESSION, toStored } from './session-sql.ts'

const OF_SESSION = `(org_key, session_key) = ${keyOf('$1')}`
const KEYS_OF = (ids: string): string =>
  `(SELECT d.org_key, d.key FROM directory d WHERE d.kind = 'session' AND d.id = ANY(${ids}::text[]))`
const EVENTS: Statement = {
  name: 'events',
  text: `SELECT id, type, json FROM events WHERE ${OF_SESSION} AND id > $2 ORDER BY id LIMIT $3`,
}
const EVENTS_OF: Statement = {
  name: 'events_of',
  text: `
    SELECT id, type, json
    FROM events
    WHERE ${OF_SESSION} AND id > $2 AND type = ANY($4::text[])
    ORDER BY id
    LIMIT $3`,
}
const SESSION: Statement = {
  name: 'session',
  text: `${SELECT_SESSION} WHERE (s.org_key, s.key) = ${keyOf('$2')}`,
}
const SESSIONS: Statement = {
  name: 'sessions_by_id',
  text: `${SELECT_SESSION} WHERE (s.org_key, s.key) IN ${KEYS_OF('$2')}`,
}
const LAST_EVENTS: Statement = {
  name: 'last_events',
  text: `
    SELECT s.id AS session_id, e.id, e.type, e.json
    FROM sessions s
    JOIN events e ON e.org_key = s.org_key AND e.session_key = s.key AND e.id = s.last_id
    WHERE (s.org_key, s.key) IN ${KEYS_OF('$1')}`,
}
const RETIRED: Statement = {
  name: 'retired',
  text: `
    SELECT id
    FROM sessions
    WHERE (org_key, key) IN ${KEYS_OF('$1')} AND status = 'archived' AND worker_id IS NULL AND saga <> 2`,
}
const SEARCH_CHUNK = 1000
const FOUND: Statement = {
  name: 'found_sessions',
  text: `${SELECT_SESSION} WHERE s.org_key = ${orgNamed('$3')} AND s.key = ANY($2::bigint[])
    ORDER BY s.key DESC`,
}
/** Conditions of a listing, whose first value is the time. */
function sessionsOf(query: SessionQuery, place: PageCursor | null, values: Value[]): string {
  const binder = numberedValues(values)
  const { sort = 'created' } = query
  return [...sessionConditions(query, binder), ...afterCursor(place, sort, binder)].join(' AND ')
}

export function createReader(db: Database) {
  const ask = (statement: Statement, values: readonly Value[]): Promise<Rows> =>
    db.query(statement, values, { repeatable: true })
  const listing = createListings('listing')
  /** Examines all sessions that match the query, in batches; matches are then read completely. */
  async function searchSessions(
    query: SessionQuery,
    text: string,
    from: PageCursor | null,
    now: number,
  ): Promise<{ sessions: SessionRow[]; next_cursor: string | null }> {
    const search = createSearch(text, query.limit)
    for (let before = from; !search.isOver();) {
      const values: Value[] = [now, SEARCH_CHUNK]
      const where = sessionsOf(query, before, values)
      const rows = (await ask(
        listing(`
          SELECT s.key, s.id, s.agent, s.title, $1::bigint AS now
          FROM sessions s
          WHERE ${where}
          ORDER BY s.key DESC
          LIMIT $2`),
        values,
      )) as Searched[]
      for (const row of rows) {
        search.look(row)
        if (search.isOver()) break
      }
      if (rows.length < SEARCH_CHUNK) break
      before = { key: rows.at(-1)?.key ?? 0, by: null }
    }
    const rows = await ask(FOUND, [now, search.keys, query.org_id])
    return { sessions: rows.map(row => toSessionRow(toStored(row))), next_cursor: search.next() }
  }

  return {
    async read(
      sessionId: string,
      after: EventId,
      limit: number,
      types?: readonly EventType[],
    ): Promise<StoredEvent[]> {
      const rows =
        types === undefined
          ? await ask(EVENTS, [sessionId, after, limit])
          : await ask(EVENTS_OF, [sessionId, after, limit, [...types]])
      return rows as StoredEvent[]
    },

    async getSession(id: string, now: number): Promise<SessionRow | null> {
      const [row] = await ask(SESSION, [now, id])
      return row === undefined ? null : toSessionRow(toStored(row))
    },

    getSessions: async (ids: readonly string[], now: number): Promise<SessionRow[]> =>
      (await ask(SESSIONS, [now, [...ids]])).map(row => toSessionRow(toStored(row))),

    lastEvents: async (ids: readonly string[]): Promise<Map<string, StoredEvent>> =>
      new Map(
        ((await ask(LAST_EVENTS, [[...ids]])) as (StoredEvent & { session_id: string })[]).map(
          ({ session_id, ...event }) => [session_id, event],
        ),
      ),

    findRetired: async (ids: readonly string[]): Promise<string[]> =>
      (await ask(RETIRED, [[...ids]])).map(({ id }) => String(id)),

    async listSessions(
      query: SessionQuery,
      now: number,
    ): Promise<{ sessions: SessionRow[]; next_cursor: string | null }> {
      const { sort = 'created' } = query
      const place = parsePageCursor(query.cursor, sort)
      if (query.text !== undefined) return searchSessions(query, query.text, place, now)
      const values: Value[] = [now, query.limit + 1]
      const where = sessionsOf(query, place, values)
      const rows = await ask(
        listing(`${SELECT_SESSION} WHERE ${where} ORDER BY ${orderBy(sort)} LIMIT $2`),
        values,
      )
      return sortedPage(rows.map(toStored), query.limit, sort)
    },
  }
}

export type Reader = ReturnType<typeof createReader>

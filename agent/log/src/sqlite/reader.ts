/** Reads on the main thread's own connection: short, and of committed data only. */
import type { EventId, EventType } from '@cairn/protocol'
import { keyOf, orgNamed } from '../engine/directory.ts'
import { createSearch, sortedPage, type Searched } from '../engine/listing.ts'
import { afterCursor, orderBy, parsePageCursor, sessionConditions } from '../engine/session-query.ts'
import { leaseOf, SELECT_SESSION, type StoredSession, toSessionRow } from '../engine/session-rows.ts'
import type { SessionQuery, SessionRow } from '../session.ts'
import type { LostIds, Snapshot, StoredEvent } from '../store.ts'
import type { Db, Statement } from './adapter.ts'
import { COUNT_DUE } from './claim-sql.ts'
import { namedValues, used } from './named-values.ts'
import { parsePositions } from './positions.ts'
import { checked, findPosition, POSITION_OF, type StoredSnapshot } from './snapshots.ts'

type LogHead = Pick<StoredSession, 'org_key' | 'key' | 'last_id' | 'recent'>

/** Organisations and keys of the sessions in the list `:ids`. */
const KEYS_OF = `(
  SELECT d.org_key, d.key FROM json_each(:ids) i JOIN directory d ON d.kind = 'session' AND d.id = i.value)`

export function createReader(db: Db) {
  const statements = new Map<string, Statement>()
  /** Listings have few shapes; each is prepared once. */
  function prepared(sql: string): Statement {
    const found = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, found)
    return found
  }
  const head = db.prepare(`
    SELECT org_key, key, last_id, recent FROM sessions WHERE (org_key, key) = ${keyOf('?')}`)
  const LOG = `
    SELECT e.id, e.type, e.json
    FROM event_positions p
    JOIN events e ON e.pos = p.pos
    WHERE p.org_key = ? AND p.session_key = ? AND p.id > ?`
  const events = db.prepare(`${LOG} ORDER BY p.id LIMIT ?`)
  const eventsOf = db.prepare(`${LOG} AND e.type IN (SELECT value FROM json_each(?)) ORDER BY p.id LIMIT ?`)
  const eventAt = db.prepare('SELECT id, type, json FROM events WHERE pos = ?')
  const snapshot = db.prepare(
    `SELECT last_id, digest, body FROM snapshots WHERE (org_key, session_key) = ${keyOf('?')} AND version = ?`,
  )
  const positionOf = db.prepare(POSITION_OF)
  const session = db.prepare(`${SELECT_SESSION} WHERE (s.org_key, s.key) = ${keyOf(':id')}`)
  const sessionsById = db.prepare(`${SELECT_SESSION} WHERE (s.org_key, s.key) IN ${KEYS_OF}`)
  const holder = db.prepare(`
    SELECT status, worker_id, epoch, lease_until FROM sessions WHERE (org_key, key) = ${keyOf('?')}`)
  const retired = db.prepare(`
    SELECT id FROM sessions
    WHERE (org_key, key) IN ${KEYS_OF} AND status = 'archived' AND worker_id IS NULL AND saga <> 2`)
  const due = db.prepare(COUNT_DUE)
  const lost = db.prepare(`
    SELECT after_id, last_id
    FROM lost_ids
    WHERE (org_key, session_key) = ${keyOf(':id')}
      AND after_id < :cursor
      AND last_id >= :cursor`)
  // Losses are detected at a start, and few stores have one.
  const hasLosses = db.prepare('SELECT 1 FROM lost_ids LIMIT 1').get() !== undefined

  return {
    lostAt(sessionId: string, cursor: EventId): LostIds | null {
      if (!hasLosses) return null
      const found = lost.get({ id: sessionId, cursor }) as LostIds | undefined
      return found === undefined ? null : { ...found }
    },

    read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): StoredEvent[] {
      const found = head.get(sessionId) as LogHead | undefined
      if (found === undefined || after >= found.last_id) return []
      const recent = parsePositions(found.recent)
      const settled = found.last_id - recent.length
      const page = (
        after >= settled
          ? []
          : types === undefined
            ? events.all(found.org_key, found.key, after, limit)
            : eventsOf.all(found.org_key, found.key, after, JSON.stringify(types), limit)
      ) as StoredEvent[]
      // The row was read first: positions that were moved to event_positions since then are in the page
      // already.
      const from = Math.max(settled, after, page.at(-1)?.id ?? 0)
      for (let at = from - settled; at < recent.length && page.length < limit; at += 1) {
        const event = eventAt.get(recent[at] ?? 0) as StoredEvent | undefined
        if (event !== undefined && (types === undefined || types.includes(event.type))) page.push(event)
      }
      return page
    },

    readSnapshot(sessionId: string, version: string): Snapshot | null {
      const stored = snapshot.get(sessionId, version) as StoredSnapshot | undefined
      const row = stored && (head.get(sessionId) as LogHead | undefined)
      if (stored === undefined || row === undefined) return null
      const pos = findPosition(positionOf, row, stored.last_id)
      const record = pos === null ? undefined : (eventAt.get(pos) as StoredEvent | undefined)
      return checked(version, stored, record?.json)
    },

    getSession(id: string, now: number): SessionRow | null {
      const row = session.get({ id, now }) as StoredSession | undefined
      return row === undefined ? null : toSessionRow(row)
    },

    getSessions: (ids: readonly string[], now: number): SessionRow[] =>
      (sessionsById.all({ ids: JSON.stringify(ids), now }) as StoredSession[]).map(toSessionRow),

    leaseOf(id: string): Pick<SessionRow, 'status' | 'lease'> | null {
      const row = holder.get(id) as
        Pick<StoredSession, 'status' | 'worker_id' | 'epoch' | 'lease_until'> | undefined
      return row === undefined ? null : { status: row.status, lease: leaseOf(row) }
    },

    findRetired: (ids: readonly string[]): string[] =>
      retired.all({ ids: JSON.stringify(ids) }).map(({ id }) => String(id)),

    countDue: (at: number): number => Number(due.get({ at })?.['due']),

    listSessions(query: SessionQuery, now: number): { sessions: SessionRow[]; next_cursor: string | null } {
      const { sort = 'created' } = query
      const { binder, values } = namedValues(now)
      const place = parsePageCursor(query.cursor, sort)
      const where = [...sessionConditions(query, binder), ...afterCursor(place, sort, binder)].join(' AND ')
      if (query.text !== undefined) {
        const search = createSearch(query.text, query.limit)
        const looked = prepared(
          `SELECT s.key, s.id, s.agent, s.title FROM sessions s WHERE ${where} ORDER BY s.key DESC`,
        ).iterate(used(values, where)) as Iterable<unknown> as Iterable<Searched>
        for (const row of looked) {
          search.look(row)
          if (search.isOver()) break
        }
        const rows = prepared(
          `${SELECT_SESSION} WHERE s.org_key = ${orgNamed(':org')} AND s.key IN (SELECT value FROM json_each(:keys)) ORDER BY s.key DESC`,
        ).all({ org: query.org_id, keys: JSON.stringify(search.keys), now }) as StoredSession[]
        return { sessions: rows.map(toSessionRow), next_cursor: search.next() }
      }
      const rows = prepared(`${SELECT_SESSION} WHERE ${where} ORDER BY ${orderBy(sort)} LIMIT :limit`).all({
        ...values,
        limit: query.limit + 1,
      }) as StoredSession[]
      return sortedPage(rows, query.limit, sort)
    },
  }
}
export type Reader = ReturnType<typeof createReader>

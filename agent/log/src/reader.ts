/** Reads on the main thread's own connection: short, and of committed data only. */
import type { ArtifactMeta, ArtifactSpec, EventId, EventType, InboxItem } from '@cairn/protocol'
import {
  BESIDE_SQL,
  STATUS_SQL,
  type StoredGrant,
  type StoredItem,
  toGrant,
  toInboxItem,
} from './inbox-rows.ts'
import { descendantsSql } from './link-sql.ts'
import {
  createSearch,
  page,
  parseCursor,
  sortedPage,
  type Searched,
  type StoredArtifact,
  toArtifactMeta,
} from './listing.ts'
import { parsePositions } from './positions.ts'
import { afterCursor, orderBy, parsePageCursor, sessionConditions } from './session-query.ts'
import { namedValues, used } from './named-values.ts'
import { leaseOf, SELECT_SESSION, type StoredSession, toSessionRow } from './session-rows.ts'
import { checked, findPosition, POSITION_OF, type StoredSnapshot } from './snapshots.ts'
import type { Db, SqlValue, Statement } from './sqlite-adapter.ts'
import type { Grant } from './commit.ts'
import type { AnyInboxQuery, LogStore, LostIds, SessionQuery, Snapshot, StoredEvent } from './store.ts'
import type { SessionRow } from './session.ts'

export function createReader(db: Db) {
  const statements = new Map<string, Statement>()
  /** Listings have few shapes; each is prepared once. */
  function prepared(sql: string): Statement {
    const found = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, found)
    return found
  }
  const keyed = '(SELECT key FROM sessions WHERE id = ?)'
  const head = db.prepare('SELECT key, last_id, recent FROM sessions WHERE id = ?')
  const LOG =
    'SELECT e.id, e.type, e.json FROM event_positions p JOIN events e ON e.pos = p.pos WHERE ' +
    'p.session_key = ? AND p.id > ?'
  const events = db.prepare(`${LOG} ORDER BY p.id LIMIT ?`)
  const eventsOf = db.prepare(`${LOG} AND e.type IN (SELECT value FROM json_each(?)) ORDER BY p.id LIMIT ?`)
  const eventAt = db.prepare('SELECT id, type, json FROM events WHERE pos = ?')
  const snapshot = db.prepare(
    `SELECT last_id, digest, body FROM snapshots WHERE session_key = ${keyed} AND version = ?`,
  )
  const positionOf = db.prepare(POSITION_OF)
  const session = db.prepare(`${SELECT_SESSION} WHERE s.id = :id`)
  const sessionsById = db.prepare(`${SELECT_SESSION} WHERE s.id IN (SELECT value FROM json_each(:ids))`)
  const holder = db.prepare('SELECT status, worker_id, epoch, lease_until FROM sessions WHERE id = ?')
  const retired = db.prepare(
    "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND status = 'archived' AND " +
      'worker_id IS NULL AND saga <> 2',
  )
  const item = db.prepare(`SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE id = ?`)
  const grant = db.prepare(
    `SELECT id, granted_by, granted_by_kind FROM grants WHERE session_key = ${keyed} AND tool = ? AND ` +
      'arguments_hash = ? AND expires_at > ?\n' +
      '      ORDER BY expires_at LIMIT 1',
  )
  const artifacts = db.prepare(
    'SELECT artifact_id, name, kind, version, size, created_at FROM artifacts WHERE session_key = ' +
      `${keyed} ORDER BY created_at, rowid`,
  )
  const artifact = db.prepare(
    'SELECT artifact_id, name, kind, version, size, created_at, spec FROM artifacts WHERE session_key ' +
      `= ${keyed} AND artifact_id = ?`,
  )

  const lost = db.prepare(
    'SELECT after_id, last_id FROM lost_ids WHERE session_key = (SELECT key FROM sessions WHERE id = ' +
      ':id) AND after_id < :cursor AND last_id >= :cursor',
  )
  // Losses are detected at a start, and hardly any store has one.
  const hasLosses = db.prepare('SELECT 1 FROM lost_ids LIMIT 1').get() !== undefined

  return {
    lostAt(sessionId: string, cursor: EventId): LostIds | null {
      if (!hasLosses) return null
      const found = lost.get({ id: sessionId, cursor }) as LostIds | undefined
      return found === undefined ? null : { ...found }
    },

    read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): StoredEvent[] {
      const found = head.get(sessionId) as Pick<StoredSession, 'key' | 'last_id' | 'recent'> | undefined
      if (found === undefined || after >= found.last_id) return []
      const recent = parsePositions(found.recent)
      const settled = found.last_id - recent.length
      const page = (
        after >= settled
          ? []
          : types === undefined
            ? events.all(found.key, after, limit)
            : eventsOf.all(found.key, after, JSON.stringify(types), limit)
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
      const row =
        stored && (head.get(sessionId) as Pick<StoredSession, 'key' | 'last_id' | 'recent'> | undefined)
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
      retired.all(JSON.stringify(ids)).map(({ id }) => String(id)),

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
          `${SELECT_SESSION} WHERE s.key IN (SELECT value FROM json_each(:keys)) ORDER BY s.key DESC`,
        ).all({ keys: JSON.stringify(search.keys), now }) as StoredSession[]
        return { sessions: rows.map(toSessionRow), next_cursor: search.next() }
      }
      const rows = prepared(`${SELECT_SESSION} WHERE ${where} ORDER BY ${orderBy(sort)} LIMIT :limit`).all({
        ...values,
        limit: query.limit + 1,
      }) as StoredSession[]
      return sortedPage(rows, query.limit, sort)
    },

    getInboxItem(id: string, now: number): Awaited<ReturnType<LogStore['getInboxItem']>> {
      const row = item.get(id) as StoredItem | undefined
      return row === undefined
        ? null
        : {
            ...toInboxItem(row, now),
            org_id: row.org_id,
            created_by: row.created_by,
            private: JSON.parse(row.private) as Record<string, string>,
          }
    },

    listInbox(query: AnyInboxQuery, now: number): { items: InboxItem[]; next_cursor: string | null } {
      const where = ['seq < :before']
      const values: Record<string, SqlValue> = { before: parseCursor(query.cursor), limit: query.limit + 1 }
      if (query.org_id !== undefined) {
        where.push('org_id = :org_id')
        values['org_id'] = query.org_id
      }
      if (query.created_by !== undefined) {
        where.push('created_by = :created_by')
        values['created_by'] = query.created_by
      }
      if (query.session_id !== undefined) {
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
        values['now'] = now
      }
      const rows = prepared(
        `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE ${where.join(' AND ')} ` +
          'ORDER BY seq DESC LIMIT :limit',
      ).all(values) as StoredItem[]
      const { found, next_cursor } = page(
        rows,
        query.limit,
        row => row.seq,
        row => toInboxItem(row, now),
      )
      return { items: found, next_cursor }
    },

    findGrant: (sessionId: string, tool: string, argumentsHash: string, now: number): Grant | null =>
      toGrant(grant.get(sessionId, tool, argumentsHash, now) as StoredGrant | undefined),
    listArtifacts: (sessionId: string): ArtifactMeta[] =>
      (artifacts.all(sessionId) as StoredArtifact[]).map(row => toArtifactMeta(row, sessionId)),
    getArtifact(sessionId: string, artifactId: string): { meta: ArtifactMeta; spec: ArtifactSpec } | null {
      const row = artifact.get(sessionId, artifactId) as (StoredArtifact & { spec: string }) | undefined
      return row === undefined
        ? null
        : { meta: toArtifactMeta(row, sessionId), spec: JSON.parse(row.spec) as ArtifactSpec }
    },
  }
}
export type Reader = ReturnType<typeof createReader>

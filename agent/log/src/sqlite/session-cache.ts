/**
 * The cache of sessions of the only writer, so cached rows stay valid: guards are decided here, and a session
 * that several commits of a batch touch is written once. `flush` must run before any statement that queries
 * sessions as a table.
 */
import type { CommitSql } from './commit-sql.ts'
import {
  type FixedText,
  type Moving,
  movingOf,
  onlyGrew,
  packFixed,
  type PackedSession,
  packSession,
} from './packed-session.ts'
import { isFull, parsePositions } from './positions.ts'
import type { StoredSession } from '../engine/session-rows.ts'

const CAPACITY = 20_000

export type SessionCache = {
  load(id: string, now: number): StoredSession | null
  /** Replaces the row; it is written at the next flush. */
  put(row: StoredSession): void
  /** Moves the positions of the newest events to their table; the caller puts the row. */
  settle(row: StoredSession): void
  /** The row in the form that is sent to the store. */
  pack(row: StoredSession): PackedSession
  flush(): void
  /** Drops all cached rows; a rollback invalidates them. */
  forget(): void
}

export function createSessionCache(
  sql: Pick<CommitSql, 'session' | 'updateSession' | 'growSession' | 'insertPosition' | 'waiting'>,
  capacity: number = CAPACITY,
): SessionCache {
  const rows = new Map<string, StoredSession>()
  const dirty = new Map<number, StoredSession>()
  /** By key: the values that the table holds, for rows that were written. */
  const written = new Map<number, Moving>()
  /** By key: the constant start of a packed session. */
  const starts = new Map<number, FixedText>()

  function settle(row: StoredSession): void {
    const positions = parsePositions(row.recent)
    const before = row.last_id - positions.length
    for (const [at, pos] of positions.entries()) sql.insertPosition.run(row.key, before + at + 1, pos)
    row.recent = ''
  }

  function write(row: StoredSession): void {
    const values = movingOf(row)
    const before = written.get(row.key)
    if (before !== undefined && onlyGrew(before, values))
      sql.growSession.run(row.updated_at, row.last_id, row.recent, row.key)
    else sql.updateSession.run(...values, row.recent, row.key)
    written.set(row.key, values)
  }

  return {
    load(id, now) {
      const found = rows.get(id)
      if (found !== undefined) {
        // What a session waits on changes with time alone: an item may have expired since.
        return found.waiting === null
          ? found
          : {
              ...found,
              waiting: (sql.waiting.get({ key: found.key, now })?.['rank'] ?? null) as number | null,
            }
      }
      const read = sql.session.get({ id, now }) as StoredSession | undefined
      if (read === undefined) return null
      if (rows.size >= capacity) {
        rows.clear()
        starts.clear()
        written.clear()
        // Cached rows are newer than the table.
        for (const each of dirty.values()) rows.set(each.id, each)
      }
      const row = { ...read }
      rows.set(id, row)
      return row
    },
    settle,
    put(row) {
      rows.set(row.id, row)
      dirty.set(row.key, row)
    },
    pack(row) {
      let start = starts.get(row.key)
      if (start === undefined) starts.set(row.key, (start = packFixed(row)))
      return packSession(start, row)
    },
    flush() {
      for (const row of dirty.values()) {
        if (isFull(row.recent)) settle(row)
        write(row)
      }
      dirty.clear()
    },
    forget() {
      rows.clear()
      dirty.clear()
      starts.clear()
      written.clear()
    },
  }
}

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

/** A session as the writer holds it: `pos` is its address in this file, by which it is written. */
export type WrittenSession = StoredSession & { pos: number }

export type SessionCache = {
  load(id: string, now: number): WrittenSession | null
  /** Replaces the row; it is written at the next flush. */
  put(row: WrittenSession): void
  /** Moves the positions of the newest events to their table; the caller puts the row. */
  settle(row: WrittenSession): void
  /** The row in the form that is sent to the store. */
  pack(row: WrittenSession): PackedSession
  flush(): void
  /** Drops all cached rows; a rollback invalidates them. */
  forget(): void
}

export function createSessionCache(
  sql: Pick<CommitSql, 'session' | 'updateSession' | 'growSession' | 'insertPosition' | 'waiting'>,
  capacity: number = CAPACITY,
): SessionCache {
  const rows = new Map<string, WrittenSession>()
  /** By position in the file, as the following ones are. */
  const dirty = new Map<number, WrittenSession>()
  /** The values that the table holds, for rows that were written. */
  const written = new Map<number, Moving>()
  /** The constant start of a packed session. */
  const starts = new Map<number, FixedText>()

  function settle(row: WrittenSession): void {
    const positions = parsePositions(row.recent)
    const before = row.last_id - positions.length
    for (const [at, pos] of positions.entries())
      sql.insertPosition.run(row.org_key, row.key, before + at + 1, pos)
    row.recent = ''
  }

  function write(row: WrittenSession): void {
    const values = movingOf(row)
    const before = written.get(row.pos)
    if (before !== undefined && onlyGrew(before, values))
      sql.growSession.run(row.updated_at, row.last_id, row.recent, row.pos)
    else sql.updateSession.run(...values, row.recent, row.pos)
    written.set(row.pos, values)
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
              waiting: (sql.waiting.get({ org_key: found.org_key, key: found.key, now })?.['rank'] ??
                null) as number | null,
            }
      }
      const read = sql.session.get({ id, now }) as WrittenSession | undefined
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
      dirty.set(row.pos, row)
    },
    pack(row) {
      let start = starts.get(row.pos)
      if (start === undefined) starts.set(row.pos, (start = packFixed(row)))
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

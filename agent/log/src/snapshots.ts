/**
 * Snapshots of a fold in the embedded store (decision 19). One a session, beside its log and no part of it:
 * it may go at any moment, and the log is folded instead.
 *
 * Each carries a digest over its version, its text and the record it ends with. So what the disk has changed
 * is not given out, and neither is what was folded from another log under the same id: one that was restored,
 * or lost its end.
 */
import { createHash } from 'node:crypto'
import { parsePositions } from './positions.ts'
import type { SessionCache } from './session-cache.ts'
import type { Db, Statement } from './sqlite-adapter.ts'
import type { Snapshot } from './store.ts'

export type StoredSnapshot = { last_id: number; digest: string; body: string }

/** `record` is the stored text of event `last_id`. */
const digestOf = ({ version, last_id, body }: Snapshot, record: string): string =>
  createHash('sha256').update(`${version}\n${last_id}\n${record}\n${body}`).digest('hex')

/** The snapshot, if it still is what was saved for this very record. */
export function checked(
  version: string,
  stored: StoredSnapshot,
  record: string | undefined,
): Snapshot | null {
  const snapshot = { version, last_id: stored.last_id, body: stored.body }
  return record !== undefined && digestOf(snapshot, record) === stored.digest ? snapshot : null
}

/**
 * Where the record of an event is; null where the log has none of that id. `row` and `event_positions` must
 * be of one moment.
 */
export function findPosition(
  positionOf: Statement,
  row: { key: number; last_id: number; recent: string },
  id: number,
): number | null {
  const recent = parsePositions(row.recent)
  const settled = row.last_id - recent.length
  if (id > settled) return recent[id - settled - 1] ?? null
  return (positionOf.get(row.key, id)?.['pos'] ?? null) as number | null
}

export const POSITION_OF = 'SELECT pos FROM event_positions WHERE session_key = ? AND id = ?'

export type SaveSnapshot = (sessions: SessionCache, at: number, id: string, snapshot: Snapshot) => boolean

/**
 * The newest to come stays, whatever was there: one that is damaged, or ahead of a log that was restored, is
 * gone with the next.
 */
export function prepareSaveSnapshot(db: Db): SaveSnapshot {
  const positionOf = db.prepare(POSITION_OF)
  const record = db.prepare('SELECT json FROM events WHERE pos = ?')
  const save = db.prepare(
    'INSERT OR REPLACE INTO snapshots (session_key, version, last_id, digest, body) VALUES (?, ?, ?, ?, ?)',
  )
  return (sessions, at, id, snapshot) => {
    const row = sessions.load(id, at)
    if (row === null) return false
    const pos = findPosition(positionOf, row, snapshot.last_id)
    const json = pos === null ? undefined : record.get(pos)?.['json']
    if (typeof json !== 'string') return false
    save.run(row.key, snapshot.version, snapshot.last_id, digestOf(snapshot, json), snapshot.body)
    return true
  }
}

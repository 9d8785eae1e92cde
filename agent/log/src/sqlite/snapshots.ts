/**
 * Snapshots of a fold in the embedded store (decision 19). One per session, beside its log and not part of
 * it: without it, the log is folded instead.
 *
 * Each carries a digest over its version, its text and the record it ends with. So a snapshot that was
 * corrupted on disk is not used, and neither is one that was folded from another log with the same id: a
 * restored one, or one that lost its end.
 */
import { createHash } from 'node:crypto'
import { parsePositions } from './positions.ts'
import type { SessionCache } from './session-cache.ts'
import type { Db, Statement } from './adapter.ts'
import type { Snapshot } from '../store.ts'

export type StoredSnapshot = { last_id: number; digest: string; body: string }

/** `record` is the stored text of event `last_id`. */
const digestOf = ({ version, last_id, body }: Snapshot, record: string): string =>
  createHash('sha256').update(`${version}\n${last_id}\n${record}\n${body}`).digest('hex')

/** The snapshot, if it is unchanged and belongs to this record. */
export function checked(
  version: string,
  stored: StoredSnapshot,
  record: string | undefined,
): Snapshot | null {
  const snapshot = { version, last_id: stored.last_id, body: stored.body }
  return record !== undefined && digestOf(snapshot, record) === stored.digest ? snapshot : null
}

/**
 * Position of an event's record; null if the log has no event with that id. `row` and `event_positions` must
 * be read consistently.
 */
export function findPosition(
  positionOf: Statement,
  row: { org_key: number; key: number; last_id: number; recent: string },
  id: number,
): number | null {
  const recent = parsePositions(row.recent)
  const settled = row.last_id - recent.length
  if (id > settled) return recent[id - settled - 1] ?? null
  return (positionOf.get(row.org_key, row.key, id)?.['pos'] ?? null) as number | null
}

export const POSITION_OF = 'SELECT pos FROM event_positions WHERE org_key = ? AND session_key = ? AND id = ?'

export type SaveSnapshot = (sessions: SessionCache, at: number, id: string, snapshot: Snapshot) => boolean

/**
 * The newest save always replaces the stored one: a damaged snapshot, or one ahead of a restored log, is gone
 * with the next save.
 */
export function prepareSaveSnapshot(db: Db): SaveSnapshot {
  const positionOf = db.prepare(POSITION_OF)
  const record = db.prepare('SELECT json FROM events WHERE pos = ?')
  const save = db.prepare(
    `INSERT OR REPLACE INTO snapshots (org_key, session_key, version, last_id, digest, body)
      VALUES (?, ?, ?, ?, ?, ?)`,
  )
  return (sessions, at, id, snapshot) => {
    const row = sessions.load(id, at)
    if (row === null) return false
    const pos = findPosition(positionOf, row, snapshot.last_id)
    const json = pos === null ? undefined : record.get(pos)?.['json']
    if (typeof json !== 'string') return false
    save.run(
      row.org_key,
      row.key,
      snapshot.version,
      snapshot.last_id,
      digestOf(snapshot, json),
      snapshot.body,
    )
    return true
  }
}

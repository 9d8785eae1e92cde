/**
 * Acknowledged records that a store has lost (decision 14): on start, a loss is detected and reported, and no
 * id is assigned twice.
 *
 * It is unknown which sessions lost records. None lost more than the total, so the ids of each session
 * continue above that number: a reader that saw a lost record has a cursor within the gap, and is notified of
 * the loss.
 */
import { parsePositions } from './positions.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import type { Db } from './adapter.ts'
import type { Mark } from './store-mark.ts'

export type Loss = {
  records: number
  /** Date of the newest remaining record, epoch milliseconds; null if there is none. */
  since: number | null
  /** Date of the newest record that was acknowledged. */
  until: number
}
export type PastLoss = Loss & { found_at: number }

export const hasLossTables = (db: Db): boolean =>
  db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lost_ids'`).get() !== undefined

export const storeId = (db: Db): string => String(db.prepare('SELECT id FROM store_identity').get()?.['id'])

/**
 * Counts the records that were ever written: positions are assigned in commit order, and the newest one is
 * never pruned.
 */
export function prepareCount(db: Db): () => number {
  const newest = db.prepare('SELECT coalesce(max(pos), 0) AS pos FROM events')
  const lost = Number(
    db.prepare('SELECT coalesce(sum(records), 0) AS records FROM losses').get()?.['records'],
  )
  return () => Number(newest.get()?.['pos']) + lost
}

/** Records that the mark of this store counts and the file lacks; null if none is missing. */
export function findLoss(db: Db, mark: Mark): Loss | null {
  const records = mark.records - prepareCount(db)()
  if (records <= 0) return null
  const newest = db.prepare('SELECT at FROM events ORDER BY pos DESC LIMIT 1').get()
  return { records, since: newest === undefined ? null : Number(newest['at']), until: mark.at }
}

/** Records a loss and raises the ids of every session above those that it may have lost. One transaction. */
export function recordLoss(db: Db, { records, since, until }: Loss, now: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    // The ids of positions in a session's row are counted back from its last id, which is about to change.
    const insert = db.prepare(`
      INSERT INTO event_positions (org_key, session_key, id, pos) VALUES (?, ?, ?, ?)`)
    const rows = db
      .prepare(`SELECT org_key, key, last_id, recent FROM sessions WHERE recent <> ''`)
      .all() as Pick<StoredSession, 'org_key' | 'key' | 'last_id' | 'recent'>[]
    for (const { org_key, key, last_id, recent } of rows) {
      const positions = parsePositions(recent)
      for (const [at, pos] of positions.entries())
        insert.run(org_key, key, last_id - positions.length + at + 1, pos)
    }
    db.prepare(
      `
      INSERT INTO lost_ids (org_key, session_key, after_id, last_id)
      SELECT org_key, key, last_id, last_id + ? FROM sessions`,
    ).run(records)
    // One more, so that the session's last id is not a lost one and a reader that continues from it gets no
    // report of a loss.
    db.prepare(`UPDATE sessions SET last_id = last_id + ? + 1, recent = ''`).run(records)
    // The events that they were folded from may be lost.
    db.exec('DELETE FROM snapshots')
    db.prepare('INSERT INTO losses (found_at, records, since, until) VALUES (?, ?, ?, ?)').run(
      now,
      records,
      since,
      until,
    )
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

export const pastLosses = (db: Db): PastLoss[] =>
  db
    .prepare('SELECT found_at, records, since, until FROM losses ORDER BY found_at')
    .all()
    .map(row => ({ ...row }) as PastLoss)

const date = (at: number): string => new Date(at).toISOString()

/** For people, without the consequences. */
export const describeLoss = ({ records, since, until }: Loss): string =>
  `${records} records that had been acknowledged are missing: ` +
  `${since === null ? 'none is left' : `the newest that is left is of ${date(since)}`}, the newest ` +
  `that is known of ${date(until)}. The write-ahead log was damaged, or an older copy was put in its ` +
  'place'

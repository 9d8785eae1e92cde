/**
 * Records that a store had acknowledged and lost (decision 14): a start finds that out, reports it, and makes
 * sure that no id is given twice.
 *
 * Nobody can know which sessions lost something. Each lost at most all of what is missing, so the ids of each
 * go on above that many: a reader that saw a lost record has a cursor below everything that comes, and is
 * told.
 */
import { parsePositions } from './positions.ts'
import type { StoredSession } from './session-rows.ts'
import type { Db } from './sqlite-adapter.ts'
import type { Mark } from './store-mark.ts'

export type Loss = {
  records: number
  /** Date of the newest record that is left, epoch milliseconds; null when none is. */
  since: number | null
  /** Date of the newest record that was known. */
  until: number
}
export type PastLoss = Loss & { found_at: number }

export const hasLossTables = (db: Db): boolean =>
  db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lost_ids'`).get() !== undefined

export const storeId = (db: Db): string => String(db.prepare('SELECT id FROM store_identity').get()?.['id'])

/**
 * Counts the records that were ever written: positions are given in the order of commits, and the newest one
 * is never pruned.
 */
export function prepareCount(db: Db): () => number {
  const newest = db.prepare('SELECT coalesce(max(pos), 0) AS pos FROM events')
  const lost = Number(
    db.prepare('SELECT coalesce(sum(records), 0) AS records FROM losses').get()?.['records'],
  )
  return () => Number(newest.get()?.['pos']) + lost
}

/** What the mark of this store knows and the file does not have; null when nothing is missing. */
export function findLoss(db: Db, mark: Mark): Loss | null {
  const records = mark.records - prepareCount(db)()
  if (records <= 0) return null
  const newest = db.prepare('SELECT at FROM events ORDER BY pos DESC LIMIT 1').get()
  return { records, since: newest === undefined ? null : Number(newest['at']), until: mark.at }
}

/** Writes a loss down and lifts the ids of every session above what it may have had. One transaction. */
export function recordLoss(db: Db, { records, since, until }: Loss, now: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    // The positions that stand in a row have their ids by counting back from its last one, which moves.
    const insert = db.prepare('INSERT INTO event_positions (session_key, id, pos) VALUES (?, ?, ?)')
    const rows = db.prepare(`SELECT key, last_id, recent FROM sessions WHERE recent <> ''`).all() as Pick<
      StoredSession,
      'key' | 'last_id' | 'recent'
    >[]
    for (const { key, last_id, recent } of rows) {
      const positions = parsePositions(recent)
      for (const [at, pos] of positions.entries()) insert.run(key, last_id - positions.length + at + 1, pos)
    }
    db.prepare(
      'INSERT INTO lost_ids (session_key, after_id, last_id) SELECT key, last_id, last_id + ? FROM sessions',
    ).run(records)
    // One more: what the row says of itself is no lost id, and whoever follows from there is not told of a
    // loss.
    db.prepare(`UPDATE sessions SET last_id = last_id + ? + 1, recent = ''`).run(records)
    // What they were folded from may be gone.
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

/** For people, without what follows from it. */
export const describeLoss = ({ records, since, until }: Loss): string =>
  `${records} records that had been acknowledged are missing: ` +
  `${since === null ? 'none is left' : `the newest that is left is of ${date(since)}`}, the newest ` +
  `that is known of ${date(until)}. The write-ahead log was damaged, or an older copy was put in its ` +
  'place'

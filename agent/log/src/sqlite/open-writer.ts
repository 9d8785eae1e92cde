/**
 * Opens a database for writing, after a check: a damaged one is rejected, lost records are reported, and
 * nothing that could still be recovered is overwritten.
 */
import { copyFileSync, statSync } from 'node:fs'
import { describeLoss, findLoss, hasLossTables, type Loss, recordLoss, storeId } from './losses.ts'
import { migrate, readMigrations, schemaVersion } from './migrate.ts'
import { checkHeader, refuseDamaged } from './refuse-damaged.ts'
import { type Db, openDb } from './adapter.ts'
import { MARK, readMark, setMarkAside } from './store-mark.ts'
import { configureWriter } from './writer-connection.ts'
import type { WriterLine, WriterStart } from '../engine/writer-messages.ts'

type Report = (level: WriterLine['level'], message: string) => void

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/**
 * All records that the mark counts are lost: no record exists without a session, and sessions are never
 * deleted.
 */
function reportLost({ dir, path, now }: WriterStart, mark: ReturnType<typeof readMark>, tell: Report): void {
  if (mark === null || mark === 'unreadable' || mark.records === 0) return
  setMarkAside(dir, now)
  tell(
    'error',
    `${path} is missing or empty, so a new store is created. ${MARK} beside it counts ${mark.records} ` +
      `records, the newest of ${new Date(mark.at).toISOString()}. If you did not intend this, stop ` +
      'the service and restore the database from a copy.',
  )
}

const hasSessions = (db: Db): boolean =>
  schemaVersion(db) > 0 && db.prepare('SELECT 1 FROM sessions LIMIT 1').get() !== undefined

/** Compares the file with its mark. Changes nothing except a mark that belongs to another store. */
function inspect(start: WriterStart, tell: Report): Loss | null {
  const { dir, path, now } = start
  checkHeader(path)
  const mark = readMark(dir)
  if (sizeOf(path) === 0) {
    reportLost(start, mark, tell)
    return null
  }
  const db = openDb(path, { readOnly: true })
  try {
    refuseDamaged(db, path)
    if (mark === null) return null
    if (mark === 'unreadable') {
      tell(
        'warn',
        `${MARK} in ${dir} is unreadable and is created again: a loss of records before this start ` +
          'cannot be detected.',
      )
      return null
    }
    // All data of a new store is in its write-ahead log: without that the file is empty, or has only some of
    // its tables.
    if (!hasSessions(db)) {
      reportLost(start, mark, tell)
      return null
    }
    if (!hasLossTables(db) || mark.store !== storeId(db)) {
      setMarkAside(dir, now)
      tell(
        'warn',
        `${MARK} in ${dir} belongs to another store than ${path} and is renamed: missing records ` +
          'cannot be detected.',
      )
      return null
    }
    return findLoss(db, mark)
  } finally {
    db.close()
  }
}

/** Throws DamagedStore. */
export function openWriter(start: WriterStart, tell: Report): Db {
  const { path, now } = start
  const loss = inspect(start, tell)
  const log = `${path}-wal`
  const kept = `${log}.kept-${now}`
  const keeps = loss !== null && sizeOf(log) > 0
  if (keeps) copyFileSync(log, kept)
  const db = openDb(path)
  configureWriter(db)
  migrate(db, readMigrations(), now)
  if (loss !== null) {
    recordLoss(db, loss, now)
    tell(
      'error',
      `${describeLoss(loss)}. ${keeps ? `The rest of the WAL is kept as ${kept}. ` : ''}New ids ` +
        'of every session start above those that the missing records may have had, and readers with such ' +
        'an id get an error. Other writes of that time (logins, revocations, approvals) may be missing too.',
    )
  }
  return db
}

/** Reads what a data directory has lost, for `cairn doctor`; also while a server is writing. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE } from './live-copy.ts'
import { findLoss, hasLossTables, type Loss, type PastLoss, pastLosses, storeId } from './losses.ts'
import { checkHeader, refuseDamaged } from './refuse-damaged.ts'
import { openDb } from './adapter.ts'
import { readMark } from './store-mark.ts'

export type Losses = {
  /** Not yet detected by a start. */
  missing: Loss | null
  past: PastLoss[]
}

/** Throws DamagedStore if the file is not a database, or is incomplete. */
export function readLosses(dir: string): Losses {
  // The mark is read first: commits in between can only make the database longer.
  const mark = readMark(dir)
  const path = join(dir, DATABASE)
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return { missing: null, past: [] }
  checkHeader(path)
  const db = openDb(path, { readOnly: true })
  try {
    refuseDamaged(db, path)
    if (!hasLossTables(db)) return { missing: null, past: [] }
    const isOurs = mark !== null && mark !== 'unreadable' && mark.store === storeId(db)
    return { missing: isOurs ? findLoss(db, mark) : null, past: pastLosses(db) }
  } finally {
    db.close()
  }
}

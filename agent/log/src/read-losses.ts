/** What a data directory has lost, for `cairn doctor`: also beside a server that goes on writing. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE } from './live-copy.ts'
import { findLoss, hasLossTables, type Loss, type PastLoss, pastLosses, storeId } from './losses.ts'
import { checkHeader, refuseDamaged } from './refuse-damaged.ts'
import { openDb } from './sqlite-adapter.ts'
import { readMark } from './store-mark.ts'

export type Losses = {
  /** Not noticed by a start yet. */
  missing: Loss | null
  past: PastLoss[]
}

/** Throws DamagedStore when the file is no database, or not a whole one. */
export function readLosses(dir: string): Losses {
  // The mark first: what is committed after it was read makes the database longer and never shorter.
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

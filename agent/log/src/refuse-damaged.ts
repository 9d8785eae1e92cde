/**
 * Checks a database file before anything is written to it: a server that starts on a damaged file answers
 * with errors, and overwrites what could have been saved.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { type Db, isDamage } from './sqlite-adapter.ts'

/** The file holds no store that could be opened; the message says what to do. */
export class DamagedStore extends Error {
  override readonly name = 'DamagedStore'
}

/** Files up to this are read whole: about a second from memory, some seconds from a disk. */
const WHOLE_BYTES = 512 * 1024 * 1024
/** Of a larger one everything but the records and where they are. */
const LARGE = new Set(['events', 'event_positions'])
const MAGIC = 'SQLite format 3\0'

const refuse = (path: string, what: string, cause?: unknown): DamagedStore =>
  new DamagedStore(
    `The database ${path} is damaged: ${what}. Nothing was changed. Put it back from a copy (cairn ` +
      `backup makes them); or save what can be read: sqlite3 ${path} .recover | sqlite3 saved.db, and ` +
      'put that in its place.',
    { cause },
  )

/** Throws DamagedStore for what begins like no database. An empty file is a store that is yet to be made. */
export function checkHeader(path: string): void {
  const { size } = statSync(path)
  if (size === 0) return
  const head = Buffer.alloc(MAGIC.length)
  const fd = openSync(path, 'r')
  try {
    readSync(fd, head, 0, head.length, 0)
  } finally {
    closeSync(fd)
  }
  if (head.toString('latin1') !== MAGIC) throw refuse(path, 'it does not begin as a SQLite database does')
}

/** `db` is open for reading: one that may write would take the write-ahead log apart when it is closed. */
export function refuseDamaged(db: Db, path: string): void {
  let found: string[]
  try {
    found = look(db, path)
  } catch (error) {
    if (!isDamage(error)) throw error
    throw refuse(path, (error as Error).message, error)
  }
  if (found[0] !== undefined) throw refuse(path, found[0])
}

function look(db: Db, path: string): string[] {
  const check = (pragma: string): string[] =>
    db
      .prepare(pragma)
      .all()
      .map(row => String(Object.values(row)[0]))
      .filter(line => line !== 'ok')
  if (statSync(path).size <= WHOLE_BYTES) return check('PRAGMA quick_check(1)')
  const tables = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .all()
    .map(row => String(row['name']))
  return tables.filter(name => !LARGE.has(name)).flatMap(name => check(`PRAGMA quick_check("${name}")`))
}

/**
 * Checks a database file before anything is written to it: a server that starts on a damaged file would
 * answer with errors, and overwrite what could be recovered.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { type Db, isDamage } from './adapter.ts'

/** The file cannot be opened as a store; the message says what to do. */
export class DamagedStore extends Error {
  override readonly name = 'DamagedStore'
}

/** Files up to this size are checked completely: about a second from memory, some seconds from disk. */
const WHOLE_BYTES = 512 * 1024 * 1024
/** Tables that are skipped in larger files: the records and their positions. */
const LARGE = new Set(['events', 'event_positions'])
const MAGIC = 'SQLite format 3\0'

const refuse = (path: string, what: string, cause?: unknown): DamagedStore =>
  new DamagedStore(
    `The database ${path} is damaged: ${what}. Nothing was changed. ` +
      'Restore it from a backup (cairn backup creates them). Or save what can be read: sqlite3 ' +
      `${path} .recover | sqlite3 saved.db, and replace the database with the result.`,
    { cause },
  )

/**
 * Throws DamagedStore unless the file starts like a database. An empty file is a store that has not been
 * created yet.
 */
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

/** `db` must be opened for reading: closing a writable one would reset the write-ahead log. */
export function refuseDamaged(db: Db, path: string): void {
  let found: string[]
  try {
    found = inspect(db, path)
  } catch (error) {
    if (!isDamage(error)) throw error
    throw refuse(path, (error as Error).message, error)
  }
  if (found[0] !== undefined) throw refuse(path, found[0])
}

function inspect(db: Db, path: string): string[] {
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

/**
 * One run at a time in an output_dir (contract T4.7). An operating system lock on a small file, which the
 * system releases when the process ends for any reason: nothing needs cleanup after a kill, and no process id
 * is trusted.
 */
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'

const LOCK_FILE = '.run.lock'

/** SQLite's codes for a file that another connection has locked. */
const BUSY = new Set([5, 6])
const sqliteError = z.looseObject({ errcode: z.int(), message: z.string() })
const ownerRow = z.object({ pid: z.int(), host: z.string(), since: z.string() })

/** Locks an existing output_dir until disposed. Throws with the owner if another process has the lock. */
export function lockOutput(directory: string): Disposable {
  const refuse = (why: string, cause: unknown): never => {
    throw new InputError(`output_dir ${directory}: ${why}`, { cause })
  }
  let file: DatabaseSync | undefined
  try {
    file = new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 })
    // Other processes read the owner at once; it need not survive a power cut.
    file.exec('PRAGMA synchronous = OFF')
    file.exec('BEGIN IMMEDIATE')
    file.exec('CREATE TABLE IF NOT EXISTS holder (pid INTEGER, host TEXT, since TEXT)')
    file.exec('DELETE FROM holder')
    file.prepare('INSERT INTO holder VALUES (?, ?, ?)').run(process.pid, hostname(), new Date().toISOString())
    file.exec('COMMIT')
    file.exec('BEGIN IMMEDIATE')
  } catch (error) {
    const known = sqliteError.safeParse(error)
    const owner = known.success && BUSY.has(known.data.errcode) && file ? ownerText(file) : undefined
    file?.close()
    if (!known.success) throw error
    if (owner !== undefined)
      return refuse(`${owner} is writing to it; wait for that run or use another output_dir`, error)
    return refuse(`cannot lock it against other runs (${known.data.message})`, error)
  }
  const connection = file
  return { [Symbol.dispose]: () => connection.close() }
}

/** `process 4711 on somewhere, since 2026-01-02T03:04:05.678Z`. */
function ownerText(file: DatabaseSync): string {
  let row: unknown
  try {
    row = file.prepare('SELECT * FROM holder').get()
  } catch (error) {
    // The owner has just started and the table does not exist yet, or the file is locked for reading.
    if (!sqliteError.safeParse(error).success) throw error
  }
  const owner = ownerRow.safeParse(row)
  return owner.success
    ? `process ${owner.data.pid} on ${owner.data.host}, since ${owner.data.since},`
    : 'another process'
}

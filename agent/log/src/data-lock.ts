/**
 * One process per data directory. The lock is SQLite's own on an empty database, which the kernel releases
 * however the process ends; a file beside it has the process id, for the error message.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepPrivate } from './keep-private.ts'
import { isBusy, openDb } from './sqlite-adapter.ts'

/** Another process has the data directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
  /** Its process id, where it is known. */
  readonly holder: string
  constructor(dir: string, holder: string, cause: unknown) {
    super(
      `[openSqliteStore] ${dir} is in use by process ${holder}: stop it first, or give this one ` +
        'another data directory',
      { cause },
    )
    this.holder = holder
  }
}

/** Returns how to let go. */
export function lockDirectory(dir: string): () => void {
  const pidFile = join(dir, 'cairn.pid')
  const lock = join(dir, 'cairn.lock')
  keepPrivate(lock)
  const db = openDb(lock, { busyMs: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    db.close()
    if (!isBusy(cause)) throw cause
    throw new DirectoryInUse(dir, readPid(pidFile), cause)
  }
  keepPrivate(pidFile)
  writeFileSync(pidFile, `${process.pid}\n`)
  return () => db.close()
}

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // The holder is between taking the lock and writing its id.
    return 'unknown'
  }
}

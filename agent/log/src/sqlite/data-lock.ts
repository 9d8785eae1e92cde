/**
 * Allows one process per data directory. The lock is SQLite's own on an empty database, which the kernel
 * releases however the process ends; a second file holds the process id, for the error message.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepPrivate } from './keep-private.ts'
import { isBusy, openDb } from './adapter.ts'

/** Another process uses the data directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
  /** Its process id, or `unknown`. */
  readonly holder: string
  constructor(dir: string, holder: string, cause: unknown) {
    super(
      `[openSqliteStore] ${dir} is in use by process ${holder}: stop that process, or use ` +
        'another data directory',
      { cause },
    )
    this.holder = holder
  }
}

/** Returns a function that releases the lock. */
export function lockDirectory(dir: string): () => void {
  const pidFile = join(dir, 'cairn.pid')
  const lock = join(dir, 'cairn.lock')
  keepPrivate(lock)
  const db = openDb(lock, { busyMs: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (!isBusy(error)) throw error
    throw new DirectoryInUse(dir, readPid(pidFile), error)
  }
  keepPrivate(pidFile)
  writeFileSync(pidFile, `${process.pid}\n`)
  return () => db.close()
}

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // The holder has the lock but has not written its id yet.
    return 'unknown'
  }
}

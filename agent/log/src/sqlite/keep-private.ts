/** Creates files of the data directory that only the service's user may read. */
import { chmodSync, closeSync, fstatSync, openSync } from 'node:fs'

/**
 * Creates the file if it is missing, and removes other users' permissions from an existing one. SQLite gives
 * its companion files (write-ahead log, journal) the mode of the database, so this covers all of them.
 */
export function keepPrivate(path: string): void {
  const file = openSync(path, 'a', 0o600)
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) chmodSync(path, 0o600)
  } finally {
    closeSync(file)
  }
}

/** Files of the data directory that nobody but the user of the service may read. */
import { chmodSync, closeSync, fstatSync, openSync } from 'node:fs'

/**
 * Makes the file where it is missing, and takes it from other users where it was theirs to read. SQLite gives
 * its files beside a database (write-ahead log, journal) the mode of the database, so this decides for all.
 */
export function keepPrivate(path: string): void {
  const file = openSync(path, 'a', 0o600)
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) chmodSync(path, 0o600)
  } finally {
    closeSync(file)
  }
}

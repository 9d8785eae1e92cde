/**
 * The only file that names classes of node:sqlite, which are being renamed (Node documents DEP0210 and
 * DEP0211).
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

export type Db = DatabaseSync
export type Statement = StatementSync
export type SqlValue = SQLInputValue

/** SQLite's primary result codes that this package distinguishes. */
const BUSY = 5
/** Busy, locked, read-only, I/O, corrupt, full, cannot open, not a database. */
const STORAGE_CODES = new Set([BUSY, 6, 8, 10, 11, 13, 14, 26])

export function openDb(path: string, options: { readOnly?: boolean; busyMs?: number } = {}): Db {
  return new DatabaseSync(path, {
    readOnly: options.readOnly ?? false,
    timeout: options.busyMs ?? 5000,
    enableForeignKeyConstraints: true,
  })
}

/** Copies a database that is in use, on a separate thread; the copy is a consistent snapshot. */
export async function backupDb(source: Db, target: string): Promise<void> {
  await backup(source, target, { rate: 0x7fffffff })
}

const primaryCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null

export const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY

/** The file is not a database, or is incomplete. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(primaryCode(error) ?? -1)

/** True if the disk or the file failed, false if the statement was wrong. */
export const isStorageFailure = (error: unknown): boolean => STORAGE_CODES.has(primaryCode(error) ?? -1)

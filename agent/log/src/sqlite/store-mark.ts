/**
 * The record count of a store, in a file beside its database (decision 14). SQLite ends a damaged write-ahead
 * log silently at the first invalid frame: later records are lost, and their ids would be assigned again. The
 * mark says how many records there were.
 *
 * It is written as each batch is acknowledged, without a sync of its own: a killed process leaves it exact,
 * or behind by the current batch. It is synced every few seconds and at the end, so after a power failure it
 * may lag by that much. It is never ahead of what was on disk.
 */
import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const MARK = 'cairn.mark'
/** One sector, written in place, so that a write is atomic. */
const BYTES = 256
const SYNC_EVERY_MS = 10_000

export type Mark = {
  /** Id of the store. */
  store: string
  /** Records that were ever acknowledged. */
  records: number
  /** Date of the newest record, epoch milliseconds. */
  at: number
}
/** Null if there is none; `unreadable` if the file holds anything else. */
export function readMark(dir: string): Mark | 'unreadable' | null {
  let text: string
  try {
    text = readFileSync(join(dir, MARK), 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'unreadable'
  }
  try {
    const { store, records, at } = JSON.parse(text) as Partial<Mark>
    if (typeof store !== 'string' || !Number.isSafeInteger(records) || !Number.isSafeInteger(at))
      return 'unreadable'
    return { store, records: records as number, at: at as number }
  } catch {
    // Reported by the caller, who knows the consequences.
    return 'unreadable'
  }
}

/** Renames an obsolete mark, so that it can still be inspected. */
export const setMarkAside = (dir: string, now: number): void =>
  renameSync(join(dir, MARK), join(dir, `${MARK}.${now}`))

export type MarkWriter = {
  note(mark: Mark): void
  close(): void
}

/** `failed` is called once: without a mark the store works, but a loss would not be detected. */
export function openMark(dir: string, failed: (error: Error) => void): MarkWriter {
  let fd: number | null = null
  let isDirty = false
  const line = Buffer.alloc(BYTES, ' ')

  function attempt(run: (fd: number) => void): void {
    if (fd === null) return
    try {
      run(fd)
    } catch (error) {
      closeSync(fd)
      fd = null
      failed(error as Error)
    }
  }
  function open(): number | null {
    const path = join(dir, MARK)
    try {
      closeSync(openSync(path, 'a', 0o600))
      return openSync(path, 'r+')
    } catch (error) {
      failed(error as Error)
      return null
    }
  }
  fd = open()
  const syncing = setInterval(() => {
    if (isDirty) attempt(fdatasyncSync)
    isDirty = false
  }, SYNC_EVERY_MS)
  syncing.unref()

  return {
    note(mark) {
      line.fill(' ')
      line.write(JSON.stringify(mark), 0, 'latin1')
      line.write('\n', BYTES - 1, 'latin1')
      attempt(open => void writeSync(open, line, 0, BYTES, 0))
      isDirty = true
    },
    close() {
      clearInterval(syncing)
      if (isDirty) attempt(fdatasyncSync)
      if (fd !== null) closeSync(fd)
      fd = null
    },
  }
}

/**
 * How far a store had come, in a file beside its database (decision 14). SQLite ends a damaged write-ahead
 * log at the first frame that does not fit and says nothing: what follows is gone, and its ids would be given
 * again. The mark says how many records there were.
 *
 * It is written as each batch is acknowledged, without a sync of its own: a process that is killed leaves it
 * exact, or behind by the batch of that moment. Every few seconds and at the end it is synced, so that after
 * a power cut it may lag by that much. It is never ahead of what was on disk.
 */
import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const MARK = 'cairn.mark'
/** One sector, written in place: a write of it is whole or not at all. */
const BYTES = 256
const SYNC_EVERY_MS = 10_000

export type Mark = {
  /** Id of the store. */
  store: string
  /** Records that were ever acknowledged. */
  records: number
  /** Date of the newest, epoch milliseconds. */
  at: number
}
/** Null when there is none; `unreadable` when there is something else. */
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
    // Said by the caller, who knows what follows from it.
    return 'unreadable'
  }
}

/** Puts a mark that is of no use any more out of the way, for whoever wants to look at it. */
export const setMarkAside = (dir: string, now: number): void =>
  renameSync(join(dir, MARK), join(dir, `${MARK}.${now}`))

export type MarkWriter = {
  note(mark: Mark): void
  close(): void
}

/** `failed` is told once: without a mark the store works, and a loss would go unnoticed. */
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

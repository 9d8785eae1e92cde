/** Files that become visible only when they are complete. */
import { open, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { withPath } from './fs-errors.ts'

/**
 * Writes beside the path, syncs, then renames over it. On any error the path is unchanged and the temporary
 * file is removed.
 */
export async function writeAtomically(
  path: string,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`)
  try {
    const file = await open(temporary, 'wx')
    try {
      await write(file)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw withPath(path, error)
  }
}

/** Writes all bytes at the file's position. A single write call may write only part of them. */
export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.byteLength) {
    const { bytesWritten } = await file.write(bytes, written, Math.min(bytes.byteLength - written, 2 ** 30))
    written += bytesWritten
  }
}

/** Writes a small text file atomically. */
export const writeTextAtomically = (path: string, text: string) =>
  writeAtomically(path, file => writeAll(file, new TextEncoder().encode(text)))

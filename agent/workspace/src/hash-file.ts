/** The SHA-256 of a file's content. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

const CHUNK = 1024 * 1024

export const hashOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** Hashes from the start, up to the size at the time of the call. */
export async function hashFile(file: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  const { size } = await file.stat()
  const buffer = Buffer.allocUnsafe(Math.min(Math.max(size, 1), CHUNK))
  for (let at = 0; at < size;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - at), at)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
  return hash.digest('hex')
}

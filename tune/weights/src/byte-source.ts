/** Sources of a file's bytes. A file handle copies them; a mapped file (mapped-file.ts) returns views. */
import { open } from 'node:fs/promises'
import { isMissing } from './fs-errors.ts'
import { InputError } from './errors.ts'

export type ByteSource = {
  path: string
  byteLength: number
  /** Exactly these bytes. The caller must stay within byteLength. */
  read: (offset: number, length: number) => Promise<Uint8Array>
  close: () => Promise<void>
}

/** The system rejects reads of more than 2 GiB. */
const MAX_READ = 2 ** 30

/** Opens a file for reading ranges. */
export async function openFileBytes(path: string): Promise<ByteSource> {
  const handle = await open(path, 'r').catch((cause: unknown) => {
    if (isMissing(cause)) throw new InputError(`${path}: no such file`, { cause })
    throw cause
  })
  const { size } = await handle.stat()
  return {
    path,
    byteLength: size,
    close: () => handle.close(),
    async read(offset, length) {
      // Not zeroed first: every byte is filled below, and for a large tensor zeroing would take as long as
      // reading.
      const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await handle.read(
          bytes,
          filled,
          Math.min(length - filled, MAX_READ),
          offset + filled,
        )
        if (bytesRead === 0)
          throw new InputError(
            `${path}: ended at byte ${offset + filled}, expected ${offset + length}; ` +
              'the file was truncated after it was opened',
          )
        filled += bytesRead
      }
      return bytes
    },
  }
}

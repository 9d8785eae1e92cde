/** Files whose reads are views of them. */
import { mapFile } from '@cairn-tune/native'
import { openFileBytes, type ByteSource } from './byte-source.ts'

/** A file whose reads are views of it. */
export async function openMapped(path: string): Promise<ByteSource> {
  // A missing or empty file fails as it does everywhere.
  const handle = await openFileBytes(path)
  if (handle.byteLength === 0) return handle
  await handle.close()
  const bytes = await mapFile(path)
  // Unmapped with its last view: a frozen weight outlives the reader.
  return {
    path,
    byteLength: bytes.byteLength,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
    close: async () => undefined,
  }
}

/** Files whose reads return views. */
import { mapFile } from '@cairn-tune/native'
import { openFileBytes, type ByteSource } from './byte-source.ts'

/** Opens a file whose reads return views of its mapping. */
export async function openMapped(path: string): Promise<ByteSource> {
  // A missing or empty file fails with the usual error.
  const handle = await openFileBytes(path)
  if (handle.byteLength === 0) return handle
  await handle.close()
  const bytes = await mapFile(path)
  // Unmapped with its last view, because a frozen weight outlives the reader.
  return {
    path,
    byteLength: bytes.byteLength,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
    close: async () => undefined,
  }
}

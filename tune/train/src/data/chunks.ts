/** The bytes of a data file in chunks, decompressed if its name ends with .gz or .zst. */
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { InputError } from '@cairn-tune/weights'
import { decompressZstd } from './zstd-frames.ts'

export type Chunks = AsyncIterable<Uint8Array>

const CHUNK_BYTES = 2 ** 20

async function* decompressGzip(file: ReturnType<typeof createReadStream>): Chunks {
  const output = createGunzip({ chunkSize: CHUNK_BYTES })
  file.on('error', error => output.destroy(error))
  file.pipe(output)
  try {
    yield* output as Chunks
  } finally {
    output.destroy()
  }
}

const DECOMPRESSORS = {
  '.gz': { name: 'gzip', decompress: decompressGzip },
  '.zst': { name: 'Zstandard', decompress: (file: Chunks) => decompressZstd(file, CHUNK_BYTES) },
} as const

type Compression = keyof typeof DECOMPRESSORS

export const COMPRESSIONS = Object.keys(DECOMPRESSORS)

/** The name without the extension of its compression, and that extension. */
export function splitCompression(name: string): { plain: string; compression: Compression | undefined } {
  const compression = (Object.keys(DECOMPRESSORS) as Compression[]).find(one => name.endsWith(one))
  return { plain: compression === undefined ? name : name.slice(0, -compression.length), compression }
}

/** Reads a file from its start. At most a few chunks are in memory at a time. */
export async function* openChunks(path: string): Chunks {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  const { compression } = splitCompression(path)
  try {
    if (compression === undefined) yield* file as Chunks
    else yield* DECOMPRESSORS[compression].decompress(file)
  } catch (error) {
    if (compression === undefined) throw error
    throw new InputError(
      `${path}: damaged ${DECOMPRESSORS[compression].name} file ` +
        `(${error instanceof Error ? error.message : String(error)})`,
      { cause: error },
    )
  } finally {
    file.destroy()
  }
}

/**
 * Decompresses a Zstandard stream of several frames, as parallel compressors write and as concatenated files
 * have. Node's decompressor ends at the first frame without an error, so this module separates the frames.
 */
import { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'

const MAGIC = 0xfd2fb528
const isSkippable = (magic: number) => magic >>> 4 === 0x184d2a5

/** Decompresses all frames in order. */
export async function* decompressZstd(
  chunks: AsyncIterable<Uint8Array>,
  chunkSize: number,
): AsyncIterable<Buffer> {
  const input = byteReader(chunks)
  for (let magic = await input.take(4); magic.byteLength > 0; magic = await input.take(4)) {
    if (magic.byteLength === 4 && isSkippable(magic.readUInt32LE())) {
      const size = await input.take(4)
      for await (const _ of input.pass(size.byteLength === 4 ? size.readUInt32LE() : 1));
      continue
    }
    const frame = Readable.from(frameBytes(magic, input))
    const output = createZstdDecompress({ chunkSize })
    frame.on('error', error => output.destroy(error))
    frame.pipe(output)
    try {
      yield* output as AsyncIterable<Buffer>
    } finally {
      frame.destroy()
      output.destroy()
    }
  }
}

/** The bytes of the frame that begins with a magic number. The sizes of its blocks tell where it ends. */
async function* frameBytes(magic: Buffer, input: ByteReader): AsyncGenerator<Buffer> {
  if (magic.byteLength < 4 || magic.readUInt32LE() !== MAGIC) throw new Error('data that is not a frame')
  const descriptor = await input.exactly(1)
  const flags = descriptor[0] ?? 0
  const isSingle = (flags & 0x20) !== 0
  const sizeFlag = flags >> 6
  const windowBytes = isSingle ? 0 : 1
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0
  const sizeBytes = sizeFlag === 0 ? Number(isSingle) : 2 ** sizeFlag
  yield Buffer.concat([magic, descriptor, await input.exactly(windowBytes + dictionaryBytes + sizeBytes)])
  for (let isLast = false; !isLast;) {
    const header = await input.exactly(3)
    yield header
    const word = header.readUIntLE(0, 3)
    isLast = (word & 1) === 1
    const isRepeatedByte = ((word >> 1) & 3) === 1
    yield* input.pass(isRepeatedByte ? 1 : word >> 3)
  }
  if ((flags & 4) !== 0) yield await input.exactly(4)
}

type ByteReader = {
  /** Bytes, fewer at the end of the stream. */
  take: (count: number) => Promise<Buffer>
  exactly: (count: number) => Promise<Buffer>
  /** The same in pieces. */
  pass: (count: number) => AsyncGenerator<Buffer>
}

function byteReader(chunks: AsyncIterable<Uint8Array>): ByteReader {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest = Buffer.alloc(0)
  const some = async (count: number): Promise<Buffer> => {
    while (rest.byteLength === 0) {
      const { value, done } = await iterator.next()
      if (done) return rest
      rest = Buffer.from(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength)
    }
    const taken = rest.subarray(0, count)
    rest = rest.subarray(taken.byteLength)
    return taken
  }
  const take = async (count: number): Promise<Buffer> => {
    const parts: Buffer[] = []
    for (let left = count; left > 0;) {
      const part = await some(left)
      if (part.byteLength === 0) break
      parts.push(part)
      left -= part.byteLength
    }
    return Buffer.concat(parts)
  }
  return {
    take,
    async exactly(count) {
      const bytes = await take(count)
      if (bytes.byteLength < count) throw new Error('unexpected end of file')
      return bytes
    },
    async *pass(count) {
      for (let left = count; left > 0;) {
        const part = await some(left)
        if (part.byteLength === 0) throw new Error('unexpected end of file')
        left -= part.byteLength
        yield part
      }
    },
  }
}

/** Decompresses LZ4: blocks, as Parquet has them, and frames, as Arrow has them. */

/** Decompresses one block into `output` from `at`. Returns the end of what was written. */
export function decompressLz4Block(input: Uint8Array, output: Uint8Array, at = 0): number {
  let read = 0
  let write = at
  const length = (nibble: number): number => {
    let total = nibble
    if (nibble === 15)
      for (let byte = 255; byte === 255;) {
        byte = input[read++] ?? fail()
        total += byte
      }
    return total
  }
  while (read < input.length) {
    const token = input[read++] ?? 0
    const literals = length(token >> 4)
    if (read + literals > input.length || write + literals > output.length) fail()
    output.set(input.subarray(read, read + literals), write)
    read += literals
    write += literals
    if (read === input.length) break
    const offset = (input[read] ?? 0) | ((input[read + 1] ?? 0) << 8)
    read += 2
    const copied = length(token & 15) + 4
    if (offset === 0 || offset > write || write + copied > output.length) fail()
    // The copy may overlap its own output.
    if (offset >= copied) output.copyWithin(write, write - offset, write - offset + copied)
    else for (let i = 0; i < copied; i++) output[write + i] = output[write + i - offset] ?? 0
    write += copied
  }
  return write
}

function fail(): never {
  throw new Error('damaged LZ4 data')
}

const FRAME_MAGIC = 0x184d2204

/** Decompresses a frame whose size is known. */
export function decompressLz4Frame(input: Uint8Array, size: number): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength)
  if (view.getUint32(0, true) !== FRAME_MAGIC) fail()
  const flags = view.getUint8(4)
  const hasBlockChecksums = (flags & 0x10) !== 0
  const hasSize = (flags & 0x08) !== 0
  const hasDictionary = (flags & 0x01) !== 0
  let read = 7 + (hasSize ? 8 : 0) + (hasDictionary ? 4 : 0)
  const output = new Uint8Array(size)
  let write = 0
  for (;;) {
    const header = view.getUint32(read, true)
    read += 4
    if (header === 0) break
    const bytes = header & 0x7fffffff
    const block = input.subarray(read, read + bytes)
    if (header >>> 31 === 1) {
      output.set(block, write)
      write += bytes
    } else write = decompressLz4Block(block, output, write)
    read += bytes + (hasBlockChecksums ? 4 : 0)
  }
  if (write !== size) fail()
  return output
}

/**
 * Parquet's codec LZ4: blocks as Hadoop frames them, each behind its two sizes in big-endian, or a bare block
 * as older writers of Arrow left it.
 */
export function decompressParquetLz4(input: Uint8Array, size: number): Uint8Array {
  const output = new Uint8Array(size)
  if (hadoopBlocks(input, output)) return output
  if (decompressLz4Block(input, output) !== size) fail()
  return output
}

function hadoopBlocks(input: Uint8Array, output: Uint8Array): boolean {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength)
  let read = 0
  let write = 0
  while (read + 8 <= input.length) {
    const [plain, packed] = [view.getUint32(read), view.getUint32(read + 4)]
    if (packed > input.length - read - 8 || plain > output.length - write) return false
    try {
      if (decompressLz4Block(input.subarray(read + 8, read + 8 + packed), output, write) !== write + plain)
        return false
    } catch {
      // Not framed by Hadoop; the caller reads the whole as one block.
      return false
    }
    read += 8 + packed
    write += plain
  }
  return read === input.length && write === output.length
}

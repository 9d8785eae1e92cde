/**
 * Reads the head of a GGUF file from front to back. Every length and count is compared with the bytes left
 * before anything is read or allocated for it.
 */
import { InputError } from '../errors.ts'

export type ByteReader = ReturnType<typeof createByteReader>

export function createByteReader(path: string, bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let position = 0
  /** The part being read, for messages. */
  let subject = 'the header'

  const fail = (why: string): never => {
    throw new InputError(`${path}: ${subject}: ${why}`)
  }
  /** Skips `count` bytes. Returns their start. */
  function take(count: number): number {
    if (count > bytes.byteLength - position)
      fail(
        `reaches to byte ${position + count}, but the file ends at ${bytes.byteLength}; ` +
          'the file is truncated or damaged, download it again',
      )
    position += count
    return position - count
  }
  const size = (what: string): number => {
    const value = view.getBigUint64(take(8), true)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) fail(`${what} ${value} is larger than any file`)
    return Number(value)
  }
  return {
    get position() {
      return position
    },
    /** Sets the subject of later messages. */
    about(what: string) {
      subject = what
    },
    path,
    fail,
    take,
    size,
    u8: () => view.getUint8(take(1)),
    i8: () => view.getInt8(take(1)),
    u16: () => view.getUint16(take(2), true),
    i16: () => view.getInt16(take(2), true),
    u32: () => view.getUint32(take(4), true),
    i32: () => view.getInt32(take(4), true),
    f32: () => view.getFloat32(take(4), true),
    u64: () => view.getBigUint64(take(8), true),
    i64: () => view.getBigInt64(take(8), true),
    f64: () => view.getFloat64(take(8), true),
    /** Reads a count of items with at least `minBytes` bytes each. */
    count(what: string, minBytes: number): number {
      const value = size(what)
      const left = bytes.byteLength - position
      if (value * minBytes > left)
        fail(
          `${what} ${value} is impossible: each takes at least ${minBytes} bytes, and only ${left} are ` +
            'left in the file; the file is truncated or damaged',
        )
      return value
    },
    text(): string {
      const length = size('a text of length')
      const start = take(length)
      try {
        return utf8.decode(bytes.subarray(start, start + length))
      } catch {
        return fail('contains text that is not UTF-8')
      }
    },
    skipText: () => void take(size('a text of length')),
  }
}

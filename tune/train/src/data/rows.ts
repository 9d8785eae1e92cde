/** Rows of a data file, and what is common to the readers of all formats. */
import { InputError, parseExact } from '@cairn-tune/weights'
import type { Skipped } from './skips.ts'

/** `where` names the row for messages: file and line, or file and row. */
export type DataRecord = { where: string; values: Record<string, unknown> }

/** A row, or the reason why it cannot be read. */
export type Row = DataRecord | Skipped

/** Rows in order, some at a time. */
export type RowStream = AsyncIterable<readonly Row[]>

/** A longer row is skipped, so that a damaged file does not fill the memory. */
export const MAX_ROW_BYTES = 128 * 2 ** 20
export const TOO_LONG = `longer than ${MAX_ROW_BYTES / 2 ** 20} MiB`

/**
 * Fatal, because a broken character would be trained as a replacement character. A byte order mark in the
 * middle of a file is text.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of some bytes. Undefined if they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** The chunks of a text file without its byte order mark. Rejects UTF-16. */
export async function* withoutMark(path: string, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let isFirst = true
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (!isFirst) {
      yield bytes
      continue
    }
    isFirst = false
    const [first, second, third] = bytes
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      throw new InputError(`${path}: is UTF-16; save it as UTF-8`)
    yield first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes
  }
}

type Parsed = { value: unknown } | { error: string }

export function parseJson(text: string): Parsed {
  try {
    return { value: parseExact(text) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

export function rowOf(where: string, parsed: Parsed): Row {
  if ('error' in parsed) return { where, reason: `not JSON (${parsed.error})` }
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { where, values: value as Record<string, unknown> }
    : { where, reason: `must be an object with columns, got ${JSON.stringify(value)?.slice(0, 80)}` }
}

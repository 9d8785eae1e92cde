/** Reads .json files: an array of objects, or lines of objects, which many such files contain. */
import { InputError } from '@cairn-tune/weights'
import { readJsonLines } from './lines.ts'
import { MAX_ROW_BYTES, TOO_LONG, decodeUtf8, parseJson, rowOf, type Row, type RowStream } from './rows.ts'

export async function* readJson(path: string, chunks: AsyncIterable<Buffer>): RowStream {
  const { first, all } = await peek(chunks)
  if (first === undefined) throw new InputError(`${path}: not JSON (the file is empty)`)
  yield* first === '[' ? readArray(path, all) : readObjects(path, all)
}

/** The first character that is not white space, and the same chunks again. */
async function peek(
  chunks: AsyncIterable<Buffer>,
): Promise<{ first: string | undefined; all: AsyncIterable<Buffer> }> {
  const iterator = chunks[Symbol.asyncIterator]()
  const seen: Buffer[] = []
  let first: string | undefined
  while (first === undefined) {
    const { value, done } = await iterator.next()
    if (done) break
    seen.push(value)
    first = value.toString('latin1').trimStart()[0]
  }
  return {
    first,
    all: (async function* () {
      yield* seen
      yield* { [Symbol.asyncIterator]: () => iterator }
    })(),
  }
}

/** Lines of objects. One line alone is one value, which is not an array. */
async function* readObjects(path: string, chunks: AsyncIterable<Buffer>): RowStream {
  const refuse = (why: string): never => {
    throw new InputError(`${path}: must be an array of objects; use .jsonl for one object per line${why}`)
  }
  let held: readonly Row[] | undefined = []
  for await (const rows of readJsonLines(path, chunks)) {
    if (held === undefined) {
      yield rows
      continue
    }
    held = [...held, ...rows]
    const [first] = held
    if (first && 'reason' in first) refuse(` (the first line is ${first.reason})`)
    if (held.length < 2) continue
    yield held
    held = undefined
  }
  if (held !== undefined) refuse('')
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])

/** The elements of an array, without reading it whole. */
async function* readArray(path: string, chunks: AsyncIterable<Buffer>): RowStream {
  const scanner = createScanner(path)
  for await (const chunk of chunks) {
    const rows = scanner.push(chunk)
    if (rows.length > 0) yield rows
  }
  scanner.end()
}

function createScanner(path: string) {
  let depth = 0
  let inString = false
  let isEscaped = false
  let isClosed = false
  let count = 0
  /** Bytes of an element that began in an earlier chunk. */
  let parts: Buffer[] = []
  let partBytes = 0
  const add = (part: Buffer) => {
    partBytes += part.byteLength
    if (partBytes <= MAX_ROW_BYTES) parts.push(part)
    else parts = []
  }
  const broken = (why: string): never => {
    throw new InputError(`${path}: not JSON (row ${count + 1}: ${why})`)
  }
  const element = (): Row => {
    const where = `${path}: row ${count + 1}`
    const isTooLong = partBytes > MAX_ROW_BYTES
    const text = isTooLong ? '' : decodeUtf8(Buffer.concat(parts))
    parts = []
    partBytes = 0
    count++
    if (isTooLong) return { where, reason: TOO_LONG }
    if (text === undefined) throw new InputError(`${path}: not UTF-8; save it as UTF-8`)
    const parsed = parseJson(text)
    if ('error' in parsed) throw new InputError(`${path}: not JSON (row ${count}: ${parsed.error})`)
    return rowOf(where, parsed)
  }
  return {
    push(chunk: Buffer): Row[] {
      const rows: Row[] = []
      // An element starts behind the bracket or comma before it.
      let start = 0
      const finish = (end: number) => {
        add(chunk.subarray(start, end))
        start = end + 1
        rows.push(element())
      }
      for (let i = 0; i < chunk.byteLength; i++) {
        const byte = chunk[i] ?? 0
        if (inString) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) inString = false
        } else if (isClosed) {
          if (!SPACES.has(byte)) broken('text after the end of the array')
        } else if (byte === QUOTE) inString = true
        else if (OPENING.has(byte)) {
          if (++depth === 1) start = i + 1
        } else if (CLOSING.has(byte)) {
          if (--depth > 0) continue
          isClosed = true
          const isEmpty = count === 0 && isBlank([...parts, chunk.subarray(start, i)])
          if (isEmpty) start = i + 1
          else finish(i)
        } else if (byte === COMMA && depth === 1) finish(i)
      }
      if (!isClosed && depth > 0) add(chunk.subarray(start))
      return rows
    },
    end(): void {
      if (!isClosed) broken('the array is not closed')
    },
  }
}

const isBlank = (parts: readonly Buffer[]) => parts.every(part => part.every(byte => SPACES.has(byte)))

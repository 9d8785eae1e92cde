/** Reads files whose rows are lines: JSONL and plain text. */
import { TOO_LONG, MAX_ROW_BYTES, decodeUtf8, parseJson, rowOf, type Row, type RowStream } from './rows.ts'

/** A line of a file. `text` is undefined if the line is not UTF-8 or too long. */
type Line = { number: number; text: string | undefined; bytes: number }

const LINE_FEED = 10

/** Lines in order, those of a chunk at a time. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0
  let parts: Buffer[] = []
  let partBytes = 0
  const add = (part: Buffer) => {
    partBytes += part.byteLength
    if (partBytes <= MAX_ROW_BYTES) parts.push(part)
    else parts = []
  }
  const finish = (): Line => {
    const text =
      partBytes > MAX_ROW_BYTES
        ? undefined
        : decodeUtf8(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
    const line = { number: ++number, text, bytes: partBytes }
    parts = []
    partBytes = 0
    return line
  }
  for await (const chunk of chunks) {
    const lines: Line[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end))
      lines.push(finish())
      start = end + 1
    }
    if (start < chunk.byteLength) add(chunk.subarray(start))
    if (lines.length > 0) yield lines
  }
  if (partBytes > 0) yield [finish()]
}

const unreadable = (where: string, { bytes }: Line): Row => ({
  where,
  reason: bytes > MAX_ROW_BYTES ? TOO_LONG : 'not UTF-8',
})

/** One object per line. Empty lines are not rows. */
export async function* readJsonLines(path: string, chunks: AsyncIterable<Buffer>): RowStream {
  for await (const lines of splitLines(chunks))
    yield lines.flatMap((line): Row[] => {
      const where = `${path}:${line.number}`
      if (line.text === undefined) return [unreadable(where, line)]
      return line.text.trim() === '' ? [] : [rowOf(where, parseJson(line.text))]
    })
}

/** One text per line, as in the text format of the datasets library. */
export async function* readTextLines(path: string, chunks: AsyncIterable<Buffer>): RowStream {
  for await (const lines of splitLines(chunks))
    yield lines.flatMap((line): Row[] => {
      const where = `${path}:${line.number}`
      if (line.text === undefined) return [unreadable(where, line)]
      const texts = line.text.replace(/\r$/, '').split('\r')
      return texts.map(text => ({ where, values: { text } }))
    })
}

/**
 * Reads the records of a file: lines of JSON, or one JSON document. Lines are read as they arrive, so the
 * size of a file of lines does not matter.
 */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'

export type FileRecord = { line: number } & ({ value: unknown } | { damage: string })

const MAX_LINE = 64 * 1024 ** 2
/** A document is read as a whole. */
const MAX_DOCUMENT = 256 * 1024 ** 2
const NEWLINE = 10

export async function* readRecords(file: string): AsyncGenerator<FileRecord> {
  let first = true
  for await (const { line, text } of linesOf(file)) {
    const record = parsed(line, text)
    // A document that is printed over several lines does not parse line by line.
    if (first && 'damage' in record && /^\s*[[{]\s*$/.test(text.slice(0, 200)))
      return yield await documentOf(file)
    first = false
    yield record
  }
}

function parsed(line: number, text: string): FileRecord {
  if (text.length > MAX_LINE) return { line, damage: `longer than ${MAX_LINE / 1024 ** 2} MiB` }
  try {
    return { line, value: JSON.parse(text) as unknown }
  } catch (error) {
    return { line, damage: error instanceof Error ? error.message : String(error) }
  }
}

async function documentOf(file: string): Promise<FileRecord> {
  const { size } = await stat(file)
  if (size > MAX_DOCUMENT)
    return {
      line: 1,
      damage: `a document of more than ${MAX_DOCUMENT / 1024 ** 2} MiB: write it as JSON Lines`,
    }
  return parsed(1, await readFile(file, 'utf8'))
}

/** Lines that are not blank, numbered from 1. A line beyond the limit is cut. */
async function* linesOf(file: string): AsyncGenerator<{ line: number; text: string }> {
  let kept: Buffer[] = []
  let size = 0
  let line = 0
  const finish = (): string => {
    const text = Buffer.concat(kept).toString('utf8')
    kept = []
    size = 0
    line += 1
    return text
  }
  const keep = (bytes: Buffer): void => {
    size += bytes.length
    if (size <= MAX_LINE + 1) kept.push(bytes)
  }
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at))
      from = at + 1
      const tooLong = size > MAX_LINE
      const text = finish()
      if (tooLong) yield { line, text: text.padEnd(MAX_LINE + 1) }
      else if (text.trim() !== '') yield { line, text }
    }
    keep(chunk.subarray(from))
  }
  const rest = finish()
  if (rest.trim() !== '') yield { line, text: rest }
}

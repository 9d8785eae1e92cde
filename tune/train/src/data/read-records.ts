/** Rows of data files: JSONL, JSON, CSV and Parquet. */
import { readFile, readdir, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { InputError, parseExact } from '@cairn-tune/weights'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { parseCsv } from './csv.ts'
import type { Skipped } from './skips.ts'

/** `where` names the row for messages: file and line, or file and row. */
export type DataRecord = { where: string; values: Record<string, unknown> }

export type Records = { records: DataRecord[]; skipped: Skipped[] }

type Row = DataRecord | Skipped
type Reader = (path: string) => Promise<Row[]>

const readers: Record<string, Reader> = {
  '.jsonl': async path => readLines(path, await readBytes(path)),
  '.json': readJson,
  '.csv': async path => parseCsv(path, decode(path, await readBytes(path))),
  '.parquet': readParquet,
}

export const DATA_EXTENSIONS = Object.keys(readers)

/** Rows of a file, or of a split's files in a directory. Invalid rows are returned separately. */
export async function readRecords(path: string, split = 'train'): Promise<Records> {
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(`data set ${path}: no such file or directory`, { cause: error })
  })
  const files = found.isDirectory() ? await filesOfSplit(path, split) : [path]
  const parts: Row[][] = []
  for (const file of files) parts.push(await readFileRecords(file))
  const rows = parts.flat()
  if (rows.length === 0) throw new InputError(`data set ${path}: has no rows`)
  return {
    records: rows.filter(row => 'values' in row),
    skipped: rows.filter(row => 'reason' in row),
  }
}

async function readFileRecords(path: string): Promise<Row[]> {
  const read = readers[extname(path)]
  if (!read) throw new InputError(`data set ${path}: unknown format; known: ${DATA_EXTENSIONS.join(', ')}`)
  return read(path)
}

const namesSplit = (name: string, wanted: string) =>
  new RegExp(`(?:^|[-_./])${wanted}(?:[-_./]|$)`).test(name)

/** Files whose names contain the split. If no name contains any split, all belong to "train". */
async function filesOfSplit(directory: string, split: string): Promise<string[]> {
  const names = (await readdir(directory, { recursive: true }))
    .filter(name => DATA_EXTENSIONS.includes(extname(name)) && !basename(name).startsWith('.'))
    .toSorted()
  const own = names.filter(name => namesSplit(name, RegExp.escape(split)))
  const isUnsplit =
    split === 'train' && !names.some(name => namesSplit(name, '(?:train|test|validation|valid|eval|dev)'))
  const chosen = own.length > 0 || !isUnsplit ? own : names
  if (chosen.length === 0)
    throw new InputError(
      `data set ${directory}: no file of the split ${JSON.stringify(split)}; found ` +
        `${names.length === 0 ? `no file with ${DATA_EXTENSIONS.join(', ')}` : names.join(', ')}`,
    )
  return chosen.map(name => join(directory, name))
}

async function readBytes(path: string): Promise<Buffer> {
  const bytes = await readFile(path)
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new InputError(`${path}: is UTF-16; save it as UTF-8`)
  return bytes
}

/**
 * Fatal, because a broken character would be trained as a replacement character. A byte order mark is not
 * text.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function decode(path: string, bytes: Uint8Array): string {
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new InputError(`${path}: not UTF-8; save it as UTF-8`)
  return text
}

/** Splits text into lines, or bytes if a line is not valid UTF-8. */
function readLines(path: string, bytes: Buffer): Row[] {
  const lines = decodeUtf8(bytes)?.split('\n') ?? splitBytes(bytes).map(decodeUtf8)
  return lines.flatMap((line, i): Row[] => {
    const where = `${path}:${i + 1}`
    if (line === undefined) return [{ where, reason: 'not UTF-8' }]
    return line.trim() === '' ? [] : [rowOf(where, parseJson(line))]
  })
}

function splitBytes(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return [...lines, bytes.subarray(start)]
}

/** An array of objects, or lines of objects, which many files with this extension contain. */
async function readJson(path: string): Promise<Row[]> {
  const bytes = await readBytes(path)
  const text = decode(path, bytes)
  const whole = parseJson(text)
  if ('error' in whole) {
    const lines = text.split('\n').filter(line => line.trim() !== '')
    if (lines.length > 1 && 'value' in parseJson(lines[0] ?? '')) return readLines(path, bytes)
    throw new InputError(`${path}: not JSON (${whole.error})`)
  }
  if (!Array.isArray(whole.value))
    throw new InputError(`${path}: must be an array of objects; use .jsonl for one object per line`)
  return whole.value.map((value: unknown, i) => rowOf(`${path}: row ${i + 1}`, { value }))
}

type Parsed = { value: unknown } | { error: string }

function parseJson(text: string): Parsed {
  try {
    return { value: parseExact(text) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function rowOf(where: string, parsed: Parsed): Row {
  if ('error' in parsed) return { where, reason: `not JSON (${parsed.error})` }
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { where, values: value as Record<string, unknown> }
    : { where, reason: `must be an object with columns, got ${JSON.stringify(value)?.slice(0, 80)}` }
}

async function readParquet(path: string): Promise<Row[]> {
  const compressors = {
    GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)),
    BROTLI: (input: Uint8Array) => new Uint8Array(brotliDecompressSync(input)),
    ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)),
  }
  try {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })
    return rows.map((values, i) => ({ where: `${path}: row ${i + 1}`, values: { ...values } }))
  } catch (error) {
    throw new InputError(
      `${path}: invalid Parquet file (${error instanceof Error ? error.message : String(error)})`,
      { cause: error },
    )
  }
}

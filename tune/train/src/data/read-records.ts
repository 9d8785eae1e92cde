/** Rows of data files: JSONL, JSON, CSV and Parquet. */
import { readFile, readdir, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { InputError } from '@cairn-tune/weights'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { parseCsv } from './csv.ts'

/** `where` names the row for messages: file and line, or file and row. */
export type DataRecord = { where: string; values: Record<string, unknown> }

type Reader = (path: string) => Promise<DataRecord[]>

const readers: Record<string, Reader> = {
  '.jsonl': async path => {
    const lines = (await readFile(path, 'utf8')).split('\n')
    return lines.flatMap((line, i) =>
      line.trim() === ''
        ? []
        : [{ where: `${path}:${i + 1}`, values: parseObject(`${path}:${i + 1}`, line) }],
    )
  },
  '.json': async path => {
    const value = parseJson(path, await readFile(path, 'utf8'))
    if (!Array.isArray(value))
      throw new InputError(`${path}: must be an array of objects; one object a line is .jsonl`)
    return value.map((row: unknown, i) => ({
      where: `${path}: row ${i + 1}`,
      values: asObject(`${path}: row ${i + 1}`, row),
    }))
  },
  '.csv': async path =>
    parseCsv(path, await readFile(path, 'utf8')).map((values, i) => ({
      where: `${path}: row ${i + 1}`,
      values,
    })),
  '.parquet': readParquet,
}

export const DATA_EXTENSIONS = Object.keys(readers)

/** Rows of a file, or of the files of one split in a directory. */
export async function readRecords(path: string, split = 'train'): Promise<DataRecord[]> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new InputError(`data set ${path}: no such file or directory`, { cause })
  })
  const files = found.isDirectory() ? await filesOfSplit(path, split) : [path]
  const parts: DataRecord[][] = []
  for (const file of files) parts.push(await readFileRecords(file))
  const rows = parts.flat()
  if (rows.length === 0) throw new InputError(`data set ${path}: has no rows`)
  return rows
}

async function readFileRecords(path: string): Promise<DataRecord[]> {
  const read = readers[extname(path)]
  if (!read) throw new InputError(`data set ${path}: unknown format; known: ${DATA_EXTENSIONS.join(', ')}`)
  return read(path)
}

const namesSplit = (name: string, wanted: string) =>
  new RegExp(`(?:^|[-_./])${wanted}(?:[-_./]|$)`).test(name)

/** Files that name the split; where none names any split, all are of "train". */
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
        `${names.length === 0 ? `nothing with ${DATA_EXTENSIONS.join(', ')}` : names.join(', ')}`,
    )
  return chosen.map(name => join(directory, name))
}

function parseJson(where: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new InputError(`${where}: not JSON (${cause instanceof Error ? cause.message : String(cause)})`, {
      cause,
    })
  }
}

const parseObject = (where: string, line: string) => asObject(where, parseJson(where, line))

function asObject(where: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new InputError(`${where}: must be an object with columns, got ${JSON.stringify(value)?.slice(0, 80)}`)
}

async function readParquet(path: string): Promise<DataRecord[]> {
  const compressors = {
    GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)),
    BROTLI: (input: Uint8Array) => new Uint8Array(brotliDecompressSync(input)),
    ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)),
  }
  try {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })
    return rows.map((values, i) => ({ where: `${path}: row ${i + 1}`, values: { ...values } }))
  } catch (cause) {
    throw new InputError(
      `${path}: cannot be read as Parquet (${cause instanceof Error ? cause.message : String(cause)})`,
      { cause },
    )
  }
}

/** Rows of data files of every format. No file is read whole. */
import { extname } from 'node:path'
import { InputError } from '@cairn-tune/weights'
import { readArrow } from './arrow.ts'
import { COMPRESSIONS, openChunks, splitCompression } from './chunks.ts'
import { readCsv } from './csv.ts'
import { readJson } from './json-array.ts'
import { readJsonLines, readTextLines } from './lines.ts'
import { readParquet } from './parquet.ts'
import { withoutMark, type RowStream } from './rows.ts'

type TextReader = (path: string, chunks: AsyncIterable<Buffer>) => RowStream

/** Formats that are read from the first byte to the last, and may be compressed. */
const TEXTS: Readonly<Record<string, TextReader>> = {
  '.jsonl': readJsonLines,
  '.ndjson': readJsonLines,
  '.json': readJson,
  '.csv': readCsv,
  '.tsv': (path, chunks) => readCsv(path, chunks, '\t'),
  '.txt': readTextLines,
}

/** Formats with compression of their own, whose parts are read by position. */
const TABLES: Readonly<Record<string, (path: string) => RowStream>> = {
  '.parquet': readParquet,
  '.arrow': readArrow,
}

export const DATA_EXTENSIONS = [...Object.keys(TEXTS), ...Object.keys(TABLES)]

/** The format of a file by its name, such as .jsonl for a.jsonl.gz. Undefined if it is not a data file. */
export function formatOf(name: string): string | undefined {
  const { plain, compression } = splitCompression(name)
  const format = extname(plain).toLowerCase()
  const known = compression === undefined ? DATA_EXTENSIONS : Object.keys(TEXTS)
  return known.includes(format) ? format : undefined
}

/** The rows of a file in order. `open` supplies its bytes in tests. */
export function readFileRows(path: string, open = openChunks): RowStream {
  const format = formatOf(path) ?? ''
  const readText = TEXTS[format]
  if (readText) return readText(path, withoutMark(path, open(path)))
  const readTable = TABLES[format]
  if (readTable) return readTable(path)
  throw new InputError(
    `data set ${path}: unknown format; known: ${DATA_EXTENSIONS.join(', ')}, and texts with ` +
      COMPRESSIONS.join(' or '),
  )
}

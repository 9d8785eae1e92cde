/**
 * CSV as in RFC 4180: quoted fields may hold separators, quotes (doubled) and line ends. The first row names
 * the columns. TSV is the same with tabs.
 */
import { InputError } from '@cairn-tune/weights'
import { MAX_ROW_BYTES, TOO_LONG, type Row, type RowStream } from './rows.ts'

type Fields = { fields: string[]; line: number }

/** Rows of a CSV file as objects. `path` is for messages. */
export async function* readCsv(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  separator: ',' | '\t' = ',',
): RowStream {
  let names: string[] | undefined
  for await (const rows of splitRows(path, decode(path, chunks), separator)) {
    const [header, ...others] = names ? [undefined, ...rows] : rows
    names ??= header?.fields
    const columns = names ?? []
    yield others.flatMap(row => (row ? [rowOf(path, columns, row)] : []))
  }
  if (!names) throw new InputError(`${path}: empty; the first line must name the columns`)
}

function rowOf(path: string, names: readonly string[], { fields, line }: Fields): Row {
  const where = `${path}:${line}`
  return fields.length === names.length
    ? { where, values: Object.fromEntries(names.map((name, at) => [name, fields[at] ?? ''])) }
    : {
        where,
        reason:
          `has ${fields.length} fields, but the first line names ${names.length} columns ` +
          `(${names.join(', ')})`,
      }
}

async function* decode(path: string, chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError)
      throw new InputError(`${path}: not UTF-8; save it as UTF-8`, { cause: error })
    throw error
  }
}

/** A field, quoted or not, and its terminator. */
const fieldPattern = (separator: string) =>
  new RegExp(
    `(?:"(?<quoted>(?:[^"]|"")*)"|(?<plain>[^"${separator}\\r\\n]*))(?<end>${separator}|\\r?\\n|\\r|$)`,
    'gy',
  )

/** The fields of each row. A row that a chunk cuts is read again with the next one. */
async function* splitRows(
  path: string,
  texts: AsyncIterable<string>,
  separator: string,
): AsyncGenerator<Fields[]> {
  const pattern = fieldPattern(separator)
  let rest = ''
  let line = 1
  /** The length at which a long row is tried again, which doubles, so that the time stays linear. */
  let retryAt = 0
  const take = (isEnd: boolean): Fields[] => {
    const taken = takeRows({ path, text: rest, pattern, separator, line, isEnd })
    rest = rest.slice(taken.end)
    line = taken.line
    return taken.rows
  }
  for await (const text of texts) {
    rest += text
    if (rest.length > MAX_ROW_BYTES)
      throw new InputError(`${path}:${line}: unclosed quote, or a row ${TOO_LONG}`)
    if (rest.length < retryAt) continue
    const rows = take(false)
    retryAt = rows.length > 0 ? 0 : 2 * rest.length
    if (rows.length > 0) yield rows
  }
  const rows = take(true)
  if (rows.length > 0) yield rows
}

type Cut = { path: string; text: string; pattern: RegExp; separator: string; line: number; isEnd: boolean }

/** The complete rows at the start of a text, where the next one starts, and its line. */
function takeRows({ path, text, pattern, separator, line: first, isEnd }: Cut): {
  rows: Fields[]
  end: number
  line: number
} {
  const rows: Fields[] = []
  let fields: string[] = []
  let [line, start, end] = [first, first, 0]
  pattern.lastIndex = 0
  // A separator at the end of the file is followed by an empty field.
  const hasMore = () => pattern.lastIndex < text.length || (isEnd && fields.length > 0)
  while (hasMore()) {
    const match = pattern.exec(text)
    if (!match?.groups) {
      if (!isEnd) break
      throw new InputError(`${path}:${line}: unclosed quote, or text after a closing quote`)
    }
    // The next chunk may continue this field, its quote or its line end.
    if (!isEnd && pattern.lastIndex === text.length) break
    const { quoted, plain = '', end: terminator } = match.groups
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += (match[0].match(/\r\n|\r|\n/g) ?? []).length
    if (terminator === separator) continue
    // An empty line is not a row.
    if (fields.length > 1 || fields[0] !== '' || quoted !== undefined) rows.push({ fields, line: start })
    fields = []
    start = line
    end = pattern.lastIndex
  }
  return { rows, end, line: start }
}

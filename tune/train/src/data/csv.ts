/**
 * CSV as in RFC 4180: quoted fields may hold commas, quotes (doubled) and line ends. The first row names the
 * columns.
 */
import { InputError } from '@cairn-tune/weights'

/** A row, or the reason why it is invalid. */
export type CsvRow = { where: string; values: Record<string, string> } | { where: string; reason: string }

/** Rows of a CSV text as objects. `path` is for messages. */
export function parseCsv(path: string, text: string): CsvRow[] {
  const [names, ...rows] = parseRows(path, text.replace(/^\u{feff}/u, ''))
  if (!names) throw new InputError(`${path}: empty; the first line must name the columns`)
  return rows.map(({ fields, line }) => {
    const where = `${path}:${line}`
    return fields.length === names.fields.length
      ? { where, values: Object.fromEntries(names.fields.map((name, at) => [name, fields[at] ?? ''])) }
      : {
          where,
          reason:
            `has ${fields.length} fields, but the first line names ${names.fields.length} columns ` +
            `(${names.fields.join(', ')})`,
        }
  })
}

function parseRows(path: string, text: string): { fields: string[]; line: number }[] {
  const rows: { fields: string[]; line: number }[] = []
  // A field, quoted or not, and its terminator.
  const token = /(?:"(?<quoted>(?:[^"]|"")*)"|(?<plain>[^",\r\n]*))(?<end>,|\r?\n|\r|$)/gy
  let fields: string[] = []
  let line = 1
  let start = 1
  while (token.lastIndex < text.length || fields.length > 0) {
    const found = token.exec(text)
    if (!found?.groups) throw new InputError(`${path}:${line}: unclosed quote, or text after a closing quote`)
    const { quoted, plain = '', end } = found.groups
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += (found[0].match(/\r\n|\r|\n/g) ?? []).length
    if (end === ',') continue
    // An empty line is not a row.
    if (fields.length > 1 || fields[0] !== '' || quoted !== undefined) rows.push({ fields, line: start })
    fields = []
    start = line
  }
  return rows
}

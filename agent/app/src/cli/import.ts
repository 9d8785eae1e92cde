/** cairn import: transcripts of other programs as sessions (docs/import.md). */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { asError, plural } from '@cairn/protocol'
import { type FileReport, importFile } from '../import/import-file.ts'
import { IMPORT_FORMATS, type ImportFormat } from '../import/reader.ts'
import { type Io, defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT, NotFoundError, UsageError } from '../exit.ts'
import { jsonLine, oneLine } from './terminal-text.ts'

export const importTranscripts = defineCommand({
  name: 'import',
  summary: 'Import transcripts of other agents as sessions',
  usage: [
    [
      'import FILE…',
      'import files, or all .json and .jsonl files of folders; what is there already is skipped',
    ],
    [`  --format ${IMPORT_FORMATS.join('|')}`, 'format of the files; by default, their first record decides'],
    ['  --agent NAME', 'agent that continues the sessions'],
    ['  --json', 'a report for each file, as an array'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    format: { type: 'string' },
    agent: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    if (positionals.length === 0) throw new UsageError('Missing file or folder to import')
    const format = formatFrom(values.format)
    const { client } = connect(values, io)
    const reports: FileReport[] = []
    for (const file of positionals.flatMap(filesOf)) {
      const report = await importFile(client, file, {
        signal: io.signal,
        ...(format === undefined ? {} : { format }),
        ...(values.agent === undefined ? {} : { agent: values.agent }),
      }).catch((error: unknown): FileReport => {
        if (io.signal.aborted) throw error
        const errors = [asError(error).message]
        return { file, format: format ?? null, conversations: [], damaged: [], notes: {}, errors }
      })
      reports.push(report)
      if (!values.json) printReport(report, io)
    }
    if (values.json) io.out(jsonLine(reports))
    return reports.some(({ errors }) => errors.length > 0) ? EXIT.failure.code : EXIT.ok.code
  },
})

function formatFrom(given: string | undefined): ImportFormat | undefined {
  if (given === undefined) return undefined
  const format = IMPORT_FORMATS.find(one => one === given)
  if (format === undefined)
    throw new UsageError(`Invalid --format "${given}": must be one of ${IMPORT_FORMATS.join(', ')}`)
  return format
}

function filesOf(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new NotFoundError(`${path} does not exist.`)
  if (!found.isDirectory()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.jsonl?$/.test(name))
    .toSorted()
    .map(name => join(path, name))
}

function printReport({ file, conversations, damaged, notes, errors }: FileReport, io: Io): void {
  for (const { session_id, added, total, calls } of conversations) {
    const what = added === 0 ? 'nothing new' : `${added} added`
    io.out(`${session_id ?? ''}  ${plural(total, 'message')}, ${plural(calls, 'call')}, ${what}\n`)
  }
  const say = (text: string): void => io.note(`${oneLine(file, 200)}: ${text}`)
  for (const { line, why } of damaged)
    say(`line ${line} is not valid JSON and was skipped: ${oneLine(why, 120)}`)
  for (const [what, count] of Object.entries(notes)) say(`${count} × ${oneLine(what, 80)}`)
  for (const error of errors) say(error)
}

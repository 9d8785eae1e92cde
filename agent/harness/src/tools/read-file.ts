/** read_file: a text file of the workspace, whole or a range of lines. */
import { isUtf8 } from 'node:buffer'
import { locate, readTextBytes } from '@cairn/workspace'
import { z } from 'zod'
import { defineTool } from './parameters.ts'
import { hasUtf8Mark } from './text-format.ts'

const MAX_LINES = 2000
const MAX_LINE_CHARS = 2000
/**
 * Maximum size of one answer; below that of a result, so that a long file is read in ranges instead of being
 * truncated in the middle.
 */
const MAX_ANSWER_BYTES = 40 * 1024

/** The lines that fit, at least one. One byte of text may take several in JSON. */
function takeFitting(lines: readonly string[]): string[] {
  let bytes = 0
  const end = lines.findIndex(
    (line, index) => (bytes += Buffer.byteLength(JSON.stringify(line))) > MAX_ANSWER_BYTES && index > 0,
  )
  return end === -1 ? [...lines] : lines.slice(0, end)
}

const shorten = (line: string) =>
  line.length > MAX_LINE_CHARS
    ? `${line.slice(0, MAX_LINE_CHARS)}… [${line.length - MAX_LINE_CHARS} more characters]`
    : line

/** What the model must know before it edits the file; empty for plain UTF-8. */
function describeEncoding(bytes: Buffer): { encoding?: string } {
  if (!isUtf8(bytes))
    return {
      encoding:
        'not UTF-8: undecodable bytes are shown as U+FFFD. edit_file replaces ASCII text in this file and ' +
        'keeps all other bytes; write_file would convert the file to UTF-8.',
    }
  return hasUtf8Mark(bytes) ? { encoding: 'UTF-8 with a byte order mark' } : {}
}

export const readFileTool = defineTool({
  name: 'read_file',
  description:
    `Read a text file of the workspace. Returns at most ${MAX_LINES} lines and about ` +
    `${MAX_ANSWER_BYTES / 1024} KB from line \`offset\` (1 is the first); continue with a larger offset.`,
  parameters: z.strictObject({
    path: z.string().min(1).describe('relative to the workspace'),
    offset: z.int().min(1).optional().describe('first line, counted from 1'),
    limit: z.int().min(1).max(MAX_LINES).optional().describe(`how many lines (default ${MAX_LINES})`),
  }),
  readOnly: true,
  idempotent: true,
  paths: ['path'],
  caps: ['limit'],
  async run({ path, offset = 1, limit = MAX_LINES }, { workspace }) {
    await using at = await locate(workspace, path, 'read')
    const { shown } = at
    const bytes = await readTextBytes(at)
    // Without the mark, which a model would repeat in an old_string, or leave out of it.
    const text = bytes.toString('utf8').replace(/^\ufeff/, '')
    const lines = text.split('\n')
    // A trailing newline ends the last line; it does not start another.
    if (lines.at(-1) === '') lines.pop()
    if (offset > Math.max(lines.length, 1))
      throw new Error(`'${shown}' has ${lines.length} lines; offset ${offset} is beyond its end`)
    const wanted = takeFitting(lines.slice(offset - 1, offset - 1 + limit).map(shorten))
    const whole = wanted.length === lines.length
    const content = wanted.join('\n')
    return {
      content: {
        path: shown,
        content: whole && text.endsWith('\n') ? content + '\n' : content,
        total_lines: lines.length,
        ...describeEncoding(bytes),
        ...(whole ? {} : { first_line: offset, last_line: offset - 1 + wanted.length }),
      },
    }
  },
})

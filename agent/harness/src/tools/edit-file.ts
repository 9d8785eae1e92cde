/** edit_file: replaces one exact passage of a file, or every occurrence of it. */
import { isUtf8 } from 'node:buffer'
import { locate, MAX_FILE_BYTES, readTextBytes, replaceFile } from '@cairn/workspace'
import { z } from 'zod'
import { encodeText } from './encode-text.ts'
import { defineTool } from './parameters.ts'

export const editFileTool = defineTool({
  name: 'edit_file',
  description:
    'Replace `old_string` with `new_string` in a file of the workspace. `old_string` must occur exactly ' +
    'once, whitespace included, unless `replace_all` is true.',
  parameters: z.strictObject({
    path: z.string().min(1).describe('relative to the workspace'),
    old_string: z.string().min(1),
    new_string: z.string(),
    replace_all: z.boolean().optional(),
  }),
  readOnly: false,
  // A second run would not find the passage, or find the wrong one.
  idempotent: false,
  paths: ['path'],
  mutatesFiles: true,
  async run({ path, old_string, new_string, replace_all = false }, { workspace }) {
    if (old_string === new_string) throw new Error('old_string and new_string are the same')
    const [old, next] = [encodeText('old_string', old_string), encodeText('new_string', new_string)]
    await using at = await locate(workspace, path, 'write')
    const { shown } = at
    const bytes = await readTextBytes(at)
    const isForeign = !isUtf8(bytes)
    if (isForeign && !(isAscii(old) && isAscii(next)))
      throw new Error(
        `'${shown}' is not UTF-8, so edit_file replaces only ASCII text in it with ASCII text. Choose an ` +
          'old_string and a new_string of ASCII characters, or convert the file with iconv in the terminal',
      )
    // One character per byte: bytes outside the passage are preserved in any encoding.
    const pieces = bytes.toString('latin1').split(old.toString('latin1'))
    const found = pieces.length - 1
    if (found === 0)
      throw new Error(
        `old_string was not found in '${shown}'; it must match exactly, whitespace and line ends included`,
      )
    if (found > 1 && !replace_all)
      throw new Error(
        `old_string occurs ${found} times in '${shown}'; add surrounding lines to make it unique, or ` +
          'set replace_all',
      )
    if (isForeign && pieces.slice(0, -1).some(before => mayEndInsideCharacter(before, old)))
      throw new Error(
        `'${shown}' is not UTF-8, and old_string may begin inside a character there. Begin old_string at a ` +
          'space or at the start of a line, or convert the file with iconv in the terminal',
      )
    const size = bytes.length + found * (next.length - old.length)
    if (size > MAX_FILE_BYTES)
      throw new Error(`'${shown}' would have ${size} bytes; edit_file writes at most ${MAX_FILE_BYTES}`)
    await replaceFile(at, Buffer.from(pieces.join(next.toString('latin1')), 'latin1'))
    return { content: { path: shown, replaced: found } }
  },
})

const isAscii = (bytes: Buffer): boolean => bytes.every(byte => byte < 0x80)

/**
 * Whether an ASCII passage after these bytes may start with the second byte of a character. In Shift JIS,
 * GBK, Big5 and GB 18030 a byte from 0x80 up may be followed by a byte from 0x30 to 0x7e that belongs to it.
 */
const mayEndInsideCharacter = (before: string, passage: Buffer): boolean =>
  before.charCodeAt(before.length - 1) >= 0x80 && (passage[0] ?? 0) >= 0x30

/** edit_file: replaces one exact passage of a file, or every occurrence of it. */
import { isUtf8 } from 'node:buffer'
import { locate, MAX_FILE_BYTES, readTextBytes, replaceFile } from '@cairn/workspace'
import { z } from 'zod'
import { encodeText } from './encode-text.ts'
import { defineTool } from './parameters.ts'
import { differInEndsOnly, findPassages, type Passage, withEndsOf } from './passages.ts'

export const editFileTool = defineTool({
  name: 'edit_file',
  description:
    'Replace `old_string` with `new_string` in a file of the workspace. `old_string` must occur exactly ' +
    'once, whitespace included, unless `replace_all` is true. Line ends are matched and written as the file ' +
    'has them.',
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
    // One character per byte: bytes outside the passages are preserved in any encoding.
    const text = bytes.toString('latin1')
    const [passage, given] = [old.toString('latin1'), next.toString('latin1')]
    const replacement = replacementIn(text, passage, given)
    let found = 0
    let size = bytes.length
    for (const each of findPassages(text, passage)) {
      found += 1
      size += replacement(each).length - (each.end - each.start)
      if (isForeign && mayBeginInsideCharacter(text, each))
        throw new Error(
          `'${shown}' is not UTF-8, and old_string may begin inside a character there. Begin old_string at ` +
            'a space or at the start of a line, or convert the file with iconv in the terminal',
        )
    }
    if (found === 0)
      throw new Error(`old_string was not found in '${shown}'; it must match exactly, whitespace included`)
    if (found > 1 && !replace_all)
      throw new Error(
        `old_string occurs ${found} times in '${shown}'; add surrounding lines to make it unique, or ` +
          'set replace_all',
      )
    if (size > MAX_FILE_BYTES)
      throw new Error(`'${shown}' would have ${size} bytes; edit_file writes at most ${MAX_FILE_BYTES}`)
    await replaceFile(at, replacePassages(text, passage, replacement, size))
    return { content: { path: shown, replaced: found } }
  },
})

const isAscii = (bytes: Buffer): boolean => bytes.every(byte => byte < 0x80)

const MARK = Buffer.from('\ufeff').toString('latin1')

/** What is written for each passage: `given` with the line ends of the file, after its byte order mark. */
function replacementIn(text: string, passage: string, given: string): (at: Passage) => string {
  // An edit that differs in nothing else is meant to change line ends.
  const asGiven = !given.includes('\n') || differInEndsOnly(passage, given)
  const keepsMark = passage.startsWith(MARK) && passage !== MARK && !given.startsWith(MARK)
  return at => {
    const written = asGiven ? given : withEndsOf(given, text, at)
    return keepsMark && at.start === 0 ? MARK + written : written
  }
}

function replacePassages(
  text: string,
  passage: string,
  replacement: (at: Passage) => string,
  size: number,
): Buffer {
  const written = Buffer.allocUnsafe(size)
  let [from, to] = [0, 0]
  const put = (part: string): void => void (to += written.write(part, to, 'latin1'))
  for (const at of findPassages(text, passage)) {
    put(text.slice(from, at.start))
    put(replacement(at))
    from = at.end
  }
  put(text.slice(from))
  return written
}

/**
 * Whether this ASCII passage may start with the second byte of a character. In Shift JIS, GBK, Big5 and
 * GB 18030 a byte from 0x80 up may be followed by a byte from 0x30 to 0x7e that belongs to it.
 */
const mayBeginInsideCharacter = (text: string, { start }: Passage): boolean =>
  text.charCodeAt(start - 1) >= 0x80 && text.charCodeAt(start) >= 0x30

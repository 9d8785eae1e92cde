import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeContext, runParsed } from '../../test/tools/tool-context.ts'
import { editFileTool } from './edit-file.ts'
import { readFileTool } from './read-file.ts'
import { writeFileTool } from './write-file.ts'

const context = makeContext()
const path = join(context.workspace, 'a.txt')

async function after(before: string | Buffer, tool: typeof editFileTool, args: object): Promise<Buffer> {
  writeFileSync(path, before)
  await runParsed(tool, { path: 'a.txt', ...args }, context)
  return readFileSync(path)
}
const edit = async (before: string, old_string: string, new_string: string, more: object = {}) =>
  (await after(before, editFileTool, { old_string, new_string, ...more })).toString()
const write = (before: string | Buffer, content: string) => after(before, writeFileTool, { content })

const CRLF = 'one\r\ntwo\r\nthree\r\nfour\r\n'

test.each([
  ['a passage of two lines', CRLF, 'two\nthree', '2\n3', 'one\r\n2\r\n3\r\nfour\r\n'],
  ['one line that becomes two', CRLF, 'two', '2a\n2b', 'one\r\n2a\r\n2b\r\nthree\r\nfour\r\n'],
  ['a passage that begins with a newline', CRLF, '\ntwo', '\n2', 'one\r\n2\r\nthree\r\nfour\r\n'],
  ['a passage that ends with a newline', CRLF, 'two\n', '', 'one\r\nthree\r\nfour\r\n'],
  ['the last line without an end', 'one\r\ntwo', 'two', '2\n3', 'one\r\n2\r\n3'],
  ['lines with CRLF in a file with LF', 'one\ntwo\nthree\n', 'one\r\ntwo', '1\r\n2', '1\n2\nthree\n'],
  ['a line with CRLF added to a file with LF', 'one\ntwo\n', 'one', '1\r\n1b', '1\n1b\ntwo\n'],
  ['each end of a mixed passage', 'a\r\nb\nc\r\nd\n', 'a\nb\nc', 'A\nB\nC', 'A\r\nB\nC\r\nd\n'],
  ['the nearest end in a mixed file', 'a\nb\nc\r\nd\r\n', 'c', 'C\nC2', 'a\nb\nC\r\nC2\r\nd\r\n'],
  ['a file without line ends', 'one', 'one', '1\n2', '1\n2'],
  ['an edit of nothing but line ends', CRLF, 'one\r\ntwo', 'one\ntwo', 'one\ntwo\r\nthree\r\nfour\r\n'],
  ['a lone carriage return', 'a\rb\r\nc\r\n', 'a\rb\nc', 'a\rB\nC', 'a\rB\r\nC\r\n'],
])('edit_file keeps the line ends of the file: %s', async (_, before, old, next, expected) => {
  expect(await edit(before, old, next)).toBe(expected)
})

test('edit_file replaces every passage with the line ends of its place', async () => {
  expect(await edit('x\r\ny\r\nx\ny\nx', 'x', '1\n2', { replace_all: true })).toBe(
    '1\r\n2\r\ny\r\n1\n2\ny\n1\n2',
  )
  await expect(edit('a\r\nb\r\na\r\nb\r\n', 'a\nb', 'c')).rejects.toThrow('occurs 2 times')
  expect(await edit('a\nb\r\na\r\nb', 'a\nb', 'c'), 'an exact passage comes first').toBe('c\r\na\r\nb')
})

test('edit_file finds text in a long file with CRLF, without changing any other byte', async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} ü`)
  const before = `\ufeff${lines.join('\r\n')}\r\n`
  const expected = before.replace('line 9999 ü\r\nline 10000 ü\r\n', 'line A\r\nline B ü\r\n')
  expect(await edit(before, 'line 9999 ü\nline 10000 ü\n', 'line A\nline B ü\n')).toBe(expected)
})

test('read_file shows no byte order mark, and an edit of the first line keeps it', async () => {
  writeFileSync(path, '\ufeffone\r\ntwo\r\n')
  const { content } = await runParsed(readFileTool, { path: 'a.txt' }, context)
  expect(content).toMatchObject({ content: 'one\r\ntwo\r\n', encoding: 'UTF-8 with a byte order mark' })
  expect(await edit('\ufeffone\r\ntwo\r\n', 'one\ntwo', '1')).toBe('\ufeff1\r\n')
  expect(await edit('\ufeffone\n', '\ufeffone', '1')).toBe('\ufeff1\n')
  expect(await edit('\ufeffone\n', '\ufeff', '')).toBe('one\n')
})

test.each([
  ['CRLF', CRLF, 'a\nb\n', Buffer.from('a\r\nb\r\n')],
  ['LF', 'one\ntwo\n', 'a\nb\n', Buffer.from('a\nb\n')],
  ['both kinds', 'one\r\ntwo\n', 'a\nb\n', Buffer.from('a\nb\n')],
  ['CRLF, by a text that has its own', CRLF, 'a\r\nb\n', Buffer.from('a\r\nb\n')],
  ['a byte order mark', '\ufeffone\n', 'ü\n', Buffer.from('\ufeffü\n')],
  ['UTF-16LE', Buffer.from('\ufeffone\r\ntwo\r\n', 'utf16le'), 'ü\n', Buffer.from('\ufeffü\r\n', 'utf16le')],
  [
    'UTF-16BE',
    Buffer.from('\ufeffone\n', 'utf16le').swap16(),
    'ü\n',
    Buffer.from('\ufeffü\n', 'utf16le').swap16(),
  ],
  ['bytes that are no text', Buffer.from('\0\r\n'), 'a\n', Buffer.from('a\n')],
])('write_file keeps the form of a file that it replaces: %s', async (_, before, content, expected) => {
  expect(await write(before, content)).toEqual(expected)
})

test('write_file reports what it kept, and a conversion to UTF-8', async () => {
  const report = async (before: Buffer, content: string): Promise<unknown> => {
    writeFileSync(path, before)
    return (await runParsed(writeFileTool, { path: 'a.txt', content }, context)).content
  }
  expect(await report(Buffer.from(`\ufeff${CRLF}`), 'a\n')).toMatchObject({
    bytes: 6,
    kept: 'CRLF line ends, byte order mark',
  })
  const latin1 = Buffer.from('grüße\n', 'latin1')
  expect(await report(latin1, 'Grüße\n')).toMatchObject({ encoding: expect.stringMatching(/^UTF-8; /) })
  expect(await report(latin1, 'hello\n')).not.toHaveProperty('encoding')
})

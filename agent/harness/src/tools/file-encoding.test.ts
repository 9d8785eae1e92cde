import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeContext, makeFolder, runParsed } from '../../test/tools/tool-context.ts'
import { type WorkspaceCopies } from './workspace-copies.ts'
import { decideFile } from '../capabilities/coordination/merge-files.ts'
import { memoryFile, readMemory } from '../capabilities/review/memory-file.ts'
import { editFileTool } from './edit-file.ts'
import { readFileTool } from './read-file.ts'
import { writeFileTool } from './write-file.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')

async function edit(bytes: Buffer, args: Record<string, unknown>): Promise<Buffer> {
  const context = makeContext()
  const path = join(context.workspace, 'a.txt')
  writeFileSync(path, bytes)
  try {
    await runParsed(editFileTool, { path: 'a.txt', ...args }, context)
  } catch (error) {
    expect(readFileSync(path), 'a rejected edit changes nothing').toEqual(bytes)
    throw error
  }
  return readFileSync(path)
}

/** Promise 11.14: An edit changes no byte outside the replaced text. */
test.each([
  ['Latin-1', latin1('grüße preis\n'), { old_string: 'preis', new_string: 'price' }, latin1('grüße price\n')],
  [
    'UTF-8 with a byte order mark and CRLF',
    Buffer.from('\ufeffone\r\ntwo\r\n'),
    { old_string: 'two', new_string: '2' },
    Buffer.from('\ufeffone\r\n2\r\n'),
  ],
  [
    'UTF-8 with one broken byte',
    Buffer.concat([Buffer.from('ä '), Buffer.from([0xff]), Buffer.from(' b b')]),
    { old_string: 'b', new_string: 'c', replace_all: true },
    Buffer.concat([Buffer.from('ä '), Buffer.from([0xff]), Buffer.from(' c c')]),
  ],
  [
    'UTF-8 with a NUL far from the start',
    Buffer.from(`${'x'.repeat(9000)}\0end`),
    { old_string: 'end', new_string: 'é' },
    Buffer.from(`${'x'.repeat(9000)}\0é`),
  ],
  [
    'UTF-8 and a passage of several bytes',
    Buffer.from('grüße preis'),
    { old_string: 'üß', new_string: '€' },
    Buffer.from('gr€e preis'),
  ],
])('edit_file changes no byte outside old_string: %s', async (_, bytes, args, expected) => {
  expect(await edit(bytes, args)).toEqual(expected)
})

test.each([
  ['an old_string that is not ASCII', { old_string: 'grüße', new_string: 'x' }, /is not UTF-8.*iconv/],
  ['a new_string that is not ASCII', { old_string: 'preis', new_string: '€' }, /is not UTF-8.*iconv/],
])('edit_file rejects %s in a file that is not UTF-8', async (_, args, message) => {
  await expect(edit(latin1('grüße preis\n'), args)).rejects.toThrow(message)
})

test('edit_file rejects a passage that may begin inside a multibyte character', async () => {
  // 0x95 0x5c is one character of Shift JIS; its second byte is the ASCII backslash.
  const shiftJis = Buffer.from([0x95, 0x5c, 0x20, 0x5c, 0x6e])
  await expect(edit(shiftJis, { old_string: '\\', new_string: '/', replace_all: true })).rejects.toThrow(
    'may begin inside a character',
  )
  expect(await edit(shiftJis, { old_string: ' \\n', new_string: ' \n' })).toEqual(
    Buffer.from([0x95, 0x5c, 0x20, 0x0a]),
  )
})

test('edit_file rejects a result that is larger than the maximum of a file', async () => {
  await expect(
    edit(Buffer.from('a'.repeat(1000)), {
      old_string: 'a',
      new_string: 'b'.repeat(30_000),
      replace_all: true,
    }).then(({ length }) => length),
  ).rejects.toThrow('would have 30000000 bytes')
})

test('the file tools reject half of a surrogate pair', async () => {
  const context = makeContext()
  await expect(edit(Buffer.from('a'), { old_string: 'a', new_string: '\ud83d' })).rejects.toThrow(
    'new_string',
  )
  await expect(runParsed(writeFileTool, { path: 'b.txt', content: 'x\udc00' }, context)).rejects.toThrow(
    'content has half of a surrogate pair',
  )
})

test('read_file names the encoding of a file that is not plain UTF-8', async () => {
  const context = makeContext()
  const read = async (bytes: Buffer): Promise<unknown> => {
    writeFileSync(join(context.workspace, 'a.txt'), bytes)
    return (await runParsed(readFileTool, { path: 'a.txt' }, context)).content
  }
  expect(await read(latin1('grüße\n'))).toMatchObject({
    content: 'gr\ufffd\ufffde\n',
    encoding: expect.stringMatching(/^not UTF-8: /),
  })
  expect(await read(Buffer.from('\ufeffa\n'))).toMatchObject({ encoding: 'UTF-8 with a byte order mark' })
  expect(await read(Buffer.from('grüße\n'))).not.toHaveProperty('encoding')
  await expect(read(Buffer.from('\ufeffgrüße', 'utf16le'))).rejects.toThrow('is UTF-16 text')
})

test('a worker file is not merged over an original that is not UTF-8', async () => {
  const [workspace, copy] = [makeFolder('ours'), makeFolder('theirs')]
  // Decoded, the first line of the original equals the first line of the current file.
  writeFileSync(join(workspace, 'a.txt'), 'gr\ufffdn\nb\nc\n')
  writeFileSync(join(copy, 'a.txt'), 'green\nb\nC\n')
  const copies = { original: () => Promise.resolve(latin1('grün\nb\nc\n')) } as unknown as WorkspaceCopies
  const was = { sha256: 'x', mode: 0o644, size: 9, mtime_ms: 0, ctime_ms: 0 }
  expect(
    await decideFile(
      { workspace, copy, childId: 'w', copies, merged: {} },
      { path: 'a.txt', was, now: { sha256: 'y', mode: 0o644 } },
    ),
  ).toMatchObject({ do: 'conflict' })
})

test('a memory file that is not UTF-8 is rejected instead of being rewritten', async () => {
  const file = memoryFile(makeFolder('data'), 'ada', 'assistant')
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, latin1('- mag Käse\n'))
  await expect(readMemory(file)).rejects.toThrow('memory/ada/assistant.md is not UTF-8')
})

import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeContext, runParsed } from '../../test/tools/tool-context.ts'
import { editFileTool } from './edit-file.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { writeFileTool } from './write-file.ts'

test('write_file creates missing folders, and read_file returns what was written', async () => {
  const context = makeContext()
  expect(await runParsed(writeFileTool, { path: 'a/b/c.txt', content: 'één\ntwo\n' }, context)).toEqual({
    content: { path: 'a/b/c.txt', bytes: 10, created: true },
  })
  expect(await runParsed(readFileTool, { path: '__WORKSPACE__/a/b/c.txt' }, context)).toEqual({
    content: { path: 'a/b/c.txt', content: 'één\ntwo\n', total_lines: 2 },
  })
  expect(await runParsed(writeFileTool, { path: 'a/b/c.txt', content: '' }, context)).toMatchObject({
    content: { created: false },
  })
  expect(readdirSync(join(context.workspace, 'a/b'))).toEqual(['c.txt'])
})

test('write_file keeps the mode of a file that it replaces, and rejects a folder', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'run.sh'), '#!/bin/sh')
  chmodSync(join(context.workspace, 'run.sh'), 0o755)
  mkdirSync(join(context.workspace, 'folder'))
  await runParsed(writeFileTool, { path: 'run.sh', content: '#!/bin/bash' }, context)
  expect(statSync(join(context.workspace, 'run.sh')).mode & 0o777).toBe(0o755)
  await expect(runParsed(writeFileTool, { path: 'folder', content: 'x' }, context)).rejects.toThrow(
    'not a regular file',
  )
})

test('read_file reads ranges of lines and reports their position', async () => {
  const context = makeContext()
  writeFileSync(
    join(context.workspace, 'n.txt'),
    Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`).join('\n'),
  )
  expect(await runParsed(readFileTool, { path: 'n.txt' }, context)).toMatchObject({
    content: { total_lines: 5000, first_line: 1, last_line: 2000 },
  })
  expect(await runParsed(readFileTool, { path: 'n.txt', offset: 4999, limit: 10 }, context)).toMatchObject({
    content: { content: 'line 4999\nline 5000', first_line: 4999, last_line: 5000 },
  })
  await expect(runParsed(readFileTool, { path: 'n.txt', offset: 5001 }, context)).rejects.toThrow(
    'has 5000 lines',
  )
})

test('read_file returns what fits into a result, and the next offset continues there', async () => {
  const context = makeContext()
  const lines = Array.from({ length: 1500 }, (_, index) => `${index + 1} ${'"'.repeat(50)}`)
  writeFileSync(join(context.workspace, 'wide.txt'), lines.join('\n'))
  const seen: string[] = []
  for (let offset = 1; offset <= 1500;) {
    const { content } = await runParsed(readFileTool, { path: 'wide.txt', offset }, context)
    expect(Buffer.byteLength(JSON.stringify(content))).toBeLessThan(50 * 1024)
    const part = content as { content: string; last_line: number }
    seen.push(...part.content.split('\n'))
    offset = part.last_line + 1
  }
  expect(seen).toEqual(lines)
})

test('read_file shortens very long lines', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'long.txt'), 'x'.repeat(5000))
  const { content } = await runParsed(readFileTool, { path: 'long.txt' }, context)
  expect((content as { content: string }).content).toMatch(/^x{2000}… \[3000 more characters\]$/)
})

test.each([
  ['a file that is not there', 'none.txt', /file 'none.txt' not found/],
  ['a folder', 'folder', /list_files/],
  ['a binary file', 'image.bin', /binary file \(4 bytes\)/],
  ['a path outside', '../x', /outside the workspace/],
  ['a link that leads out', 'out', /leads out/],
])('read_file rejects %s with the reason', async (_, path, message) => {
  const context = makeContext()
  mkdirSync(join(context.workspace, 'folder'))
  writeFileSync(join(context.workspace, 'image.bin'), Buffer.from([1, 0, 2, 3]))
  symlinkSync('/etc/hostname', join(context.workspace, 'out'))
  await expect(runParsed(readFileTool, { path }, context)).rejects.toThrow(message)
})

test('edit_file replaces a passage that occurs once, literally', async () => {
  const context = makeContext()
  const path = join(context.workspace, 'code.ts')
  writeFileSync(path, 'const a = 1\r\nconst b = 2\r\n')
  expect(
    await runParsed(
      editFileTool,
      { path: 'code.ts', old_string: 'a = 1', new_string: "a = '$&$1'" },
      context,
    ),
  ).toEqual({ content: { path: 'code.ts', replaced: 1 } })
  expect(readFileSync(path, 'utf8')).toBe("const a = '$&$1'\r\nconst b = 2\r\n")
})

test('edit_file requires a unique passage, or replaces every one with replace_all', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'x'), 'aXbXc')
  await expect(
    runParsed(editFileTool, { path: 'x', old_string: 'X', new_string: 'Y' }, context),
  ).rejects.toThrow('occurs 2 times')
  await expect(
    runParsed(editFileTool, { path: 'x', old_string: 'Z', new_string: 'Y' }, context),
  ).rejects.toThrow('was not found')
  await expect(
    runParsed(editFileTool, { path: 'x', old_string: 'X', new_string: 'X' }, context),
  ).rejects.toThrow('the same')
  expect(readFileSync(join(context.workspace, 'x'), 'utf8')).toBe('aXbXc')
  await runParsed(editFileTool, { path: 'x', old_string: 'X', new_string: '', replace_all: true }, context)
  expect(readFileSync(join(context.workspace, 'x'), 'utf8')).toBe('abc')
})

test('list_files lists the nearest first, skips folders such as node_modules, and reports a cut', async () => {
  const context = makeContext()
  for (const folder of ['src/deep', 'node_modules/x', '.git', '.cairn/results'])
    mkdirSync(join(context.workspace, folder), { recursive: true })
  writeFileSync(join(context.workspace, 'src/deep/a.ts'), 'abc')
  writeFileSync(join(context.workspace, 'z.txt'), '')
  writeFileSync(join(context.workspace, 'node_modules/x/index.js'), '')
  symlinkSync('/etc', join(context.workspace, 'out'))
  expect(await runParsed(listFilesTool, {}, context)).toEqual({
    content: {
      path: '.',
      entries: [
        '.cairn/',
        '.git/',
        'node_modules/',
        'out (link)',
        'src/',
        'z.txt (0 bytes)',
        'src/deep/',
        'src/deep/a.ts (3 bytes)',
      ],
    },
  })
  for (let index = 0; index < 600; index += 1) writeFileSync(join(context.workspace, `src/f${index}`), '')
  const { content } = await runParsed(listFilesTool, { path: 'src' }, context)
  expect(content).toMatchObject({ path: 'src', truncated: 'only the first 500 entries' })
  expect((content as { entries: string[] }).entries).toHaveLength(500)
})

test('list_files explains a path that is not a folder', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'a'), '')
  await expect(runParsed(listFilesTool, { path: 'a' }, context)).rejects.toThrow('read_file reads it')
  await expect(runParsed(listFilesTool, { path: 'b' }, context)).rejects.toThrow("no folder 'b'")
})

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeContext, makeFolder, runParsed } from '../../test/tools/tool-context.ts'
import { searchFilesTool } from './search-files.ts'

function makeTree() {
  const context = makeContext()
  const outside = makeFolder('outside')
  writeFileSync(join(outside, 'secret.txt'), 'needle outside')
  for (const folder of ['src/deep', 'node_modules/x'])
    mkdirSync(join(context.workspace, folder), { recursive: true })
  writeFileSync(join(context.workspace, 'src/deep/a.ts'), 'first\r\n  needle = 1\r\nlast')
  writeFileSync(join(context.workspace, 'readme.md'), 'A Needle in markdown\nneedle 2')
  writeFileSync(join(context.workspace, 'node_modules/x/index.js'), 'needle')
  writeFileSync(join(context.workspace, 'data.bin'), Buffer.from('\0needle'))
  symlinkSync(outside, join(context.workspace, 'out'))
  symlinkSync(join(outside, 'secret.txt'), join(context.workspace, 'out.txt'))
  return context
}
const tool = searchFilesTool()

test('finds lines with file and number, and skips binary files, links and node_modules', async () => {
  const { content } = await runParsed(tool, { pattern: 'needle' }, makeTree())
  expect(content).toEqual({
    matches: ['readme.md:2: needle 2', 'src/deep/a.ts:2:   needle = 1'],
    files_searched: 2,
    files_left_out: 1,
  })
})

test('a path, a glob and ignore_case narrow or widen the search', async () => {
  const context = makeTree()
  const matches = async (args: Record<string, unknown>) =>
    ((await runParsed(tool, args, context)).content as { matches: string[] }).matches
  expect(await matches({ pattern: 'needle', path: 'src' })).toEqual(['src/deep/a.ts:2:   needle = 1'])
  expect(await matches({ pattern: 'needle', path: 'readme.md' })).toEqual(['readme.md:2: needle 2'])
  expect(await matches({ pattern: 'needle', glob: '*.md', ignore_case: true })).toEqual([
    'readme.md:1: A Needle in markdown',
    'readme.md:2: needle 2',
  ])
  expect(await matches({ pattern: 'needle', glob: 'src/**/*.ts' })).toEqual(['src/deep/a.ts:2:   needle = 1'])
  expect(await matches({ pattern: '^\\s+needle\\b.*$' })).toEqual(['src/deep/a.ts:2:   needle = 1'])
})

test('stops a pattern with catastrophic backtracking, and the process survives', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'a.txt'), 'a'.repeat(60) + '!')
  await expect(runParsed(searchFilesTool(400), { pattern: '^(a+)+$' }, context)).rejects.toThrow(
    /longer than 0.4 s; the pattern may backtrack/,
  )
})

test('keeps the matches that were found before a file that is too slow', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'a.txt'), 'aaa')
  writeFileSync(join(context.workspace, 'b.txt'), 'a'.repeat(60) + '!')
  const search = (limitMs: number) =>
    runParsed(searchFilesTool(limitMs), { pattern: '^(a+)+$' }, context).then(({ content }) => content)
  // With a longer limit on a machine that is too slow to reach the first file in time.
  const found = await search(600).catch(() => search(60_000))
  expect(found).toEqual({
    matches: ['a.txt:1: aaa'],
    incomplete: expect.stringMatching(/^stopped after (?:0\.6|60) s$/),
  })
})

test('an abort ends the search at once', async () => {
  const controller = new AbortController()
  const context = makeContext({ signal: controller.signal })
  writeFileSync(join(context.workspace, 'a.txt'), 'a'.repeat(60) + '!')
  const running = runParsed(tool, { pattern: '^(a+)+$' }, context)
  controller.abort(new Error('stopped by the user'))
  await expect(running).rejects.toThrow('stopped by the user')
})

test('limits the matches and shows long lines around the match', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'many.txt'), 'x\n'.repeat(1000))
  writeFileSync(join(context.workspace, 'long.txt'), `${'-'.repeat(5000)}needle${'-'.repeat(5000)}`)
  const many = (await runParsed(tool, { pattern: 'x' }, context)).content as {
    matches: string[]
    incomplete: string
  }
  expect(many.matches).toHaveLength(200)
  expect(many.incomplete).toBe('stopped at 200 matches')
  const [long = ''] = (
    (await runParsed(tool, { pattern: 'needle' }, context)).content as { matches: string[] }
  ).matches
  expect(long.length).toBeLessThan(240)
  expect(long).toContain('needle')
})

test.each([
  ['(', /not a valid regular expression/],
  ['x', /no file or folder/],
])('explains the problem with %s', async (pattern, message) => {
  await expect(runParsed(tool, { pattern, path: 'none' }, makeContext())).rejects.toThrow(message)
})

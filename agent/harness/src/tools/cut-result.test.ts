import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../test/tools/tool-context.ts'
import { MAX_RESULT_BYTES, fitResult } from './cut-result.ts'

test('a short result stays unchanged, as text or object', async () => {
  const workspace = makeFolder('cut')
  expect(await fitResult(workspace, 'c1', 'hello')).toEqual({ content: 'hello' })
  expect(await fitResult(workspace, 'c1', { a: 1 })).toEqual({ content: '{"a":1}' })
})

test('cuts a long text in the middle and names the file with the whole', async () => {
  const workspace = makeFolder('cut')
  const text = Array.from({ length: 10_000 }, (_, index) => `line ${index}`).join('\n')
  const { content, truncated, full_result_path } = await fitResult(workspace, 'c1', text)
  expect(truncated).toBe(true)
  expect(full_result_path).toBe('.cairn/results/c1.txt')
  expect(readFileSync(join(workspace, '.cairn/results/c1.txt'), 'utf8')).toBe(text)
  expect(content).toMatch(
    /^line 0\nline 1\n[^]*bytes cut; the full result is in \.cairn\/results\/c1\.txt: use read_file …\]\n[^]*line 9998\nline 9999$/,
  )
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(MAX_RESULT_BYTES)
  expect(content.split('\n').length).toBeLessThanOrEqual(2000)
})

test.each([
  ['plain', 'x'.repeat(400_000)],
  ['of many bytes', '€😀'.repeat(60_000)],
  ['that JSON writes longer', '"\n\u0001'.repeat(60_000)],
])('cuts an object with a long text (%s) to JSON that still parses', async (_, output) => {
  const workspace = makeFolder('cut')
  const { content, full_result_path } = await fitResult(workspace, 'c1', {
    exit_code: 1,
    output,
    note: 'kept',
  })
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(MAX_RESULT_BYTES)
  const parsed = JSON.parse(content) as { exit_code: number; output: string; note: string }
  expect(parsed).toMatchObject({ exit_code: 1, note: 'kept' })
  expect(parsed.output).toContain('bytes cut')
  expect(parsed.output).not.toContain('\ufffd')
  expect(readFileSync(join(workspace, full_result_path ?? ''), 'utf8')).toBe(output)
})

test('cuts an object that is long without a long text as text', async () => {
  const workspace = makeFolder('cut')
  const { content, full_result_path } = await fitResult(workspace, 'c1', {
    rows: Array.from({ length: 20_000 }, (_, index) => index),
  })
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(MAX_RESULT_BYTES + 200)
  expect(JSON.parse(readFileSync(join(workspace, full_result_path ?? ''), 'utf8'))).toMatchObject({
    rows: { length: 20_000 },
  })
})

test('every call id, whatever its characters, gets its own file in the folder', async () => {
  const workspace = makeFolder('cut')
  const long = 'y'.repeat(60_000)
  const paths = await Promise.all(
    ['../../etc/x', '.._.._etc_x', 'a/b', 'a:b', 'z'.repeat(300)].map(
      async id => (await fitResult(workspace, id, long)).full_result_path,
    ),
  )
  expect(new Set(paths).size).toBe(5)
  for (const path of paths) expect(path).toMatch(/^\.cairn\/results\/[\w-]{1,100}\.txt$/)
})

test.each([
  ['a link out of the workspace', (workspace: string) => symlinkSync('/etc', join(workspace, '.cairn'))],
  ['a file', (workspace: string) => writeFileSync(join(workspace, '.cairn'), '')],
])('with %s instead of the folder, cuts the result and reports that the rest is lost', async (_, prepare) => {
  const workspace = makeFolder('cut')
  prepare(workspace)
  const fitted = await fitResult(workspace, 'c1', 'y'.repeat(60_000))
  expect(fitted).toMatchObject({
    truncated: true,
    content: expect.stringContaining('the rest could not be saved') as string,
  })
  expect(fitted.full_result_path).toBeUndefined()
})

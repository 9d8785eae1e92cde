import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listPaths, root } from '../workspace.ts'
import { missingLines, readBlocks, runBlocks } from './blocks.ts'

const run = (markdown: string): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-blocks-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return runBlocks(readBlocks(markdown), { folder, env: { PATH: '/usr/bin:/bin', FILE: 'a.tgz' } })
}

test('reads the marked blocks with their lines', () => {
  const page = [
    '# Page',
    '```sh',
    'not run',
    '```',
    '```sh run',
    'a',
    '```',
    '```sh run until="ready now"',
    'b',
    '```',
    '```yaml run title="x.yaml"',
    'c: 1',
    '```',
    '```text run',
    'd',
    '```',
    '```sh title="run.sh"',
    'not run',
    '```',
    '',
  ].join('\n')
  expect(readBlocks(page)).toEqual([
    { kind: 'commands', line: 5, text: 'a\n', exit: 0 },
    { kind: 'server', line: 8, text: 'b\n', until: 'ready now' },
    { kind: 'file', line: 11, text: 'c: 1\n', name: 'x.yaml' },
    { kind: 'output', line: 14, text: 'd\n' },
  ])
})

test('a marked block that is no command needs the name of a file', () => {
  expect(() => readBlocks('```python run\npass\n```\n')).toThrow('line 1: a block of python')
})

test('the marked blocks of every page are well formed', () => {
  const pages = listPaths('docs').filter(path => path.endsWith('.md'))
  const blocks = pages.flatMap(path => readBlocks(readFileSync(join(root, path), 'utf8')))
  expect(blocks.length).toBeGreaterThan(20)
})

test('expected lines are found anywhere, and an ellipsis stands for any text', () => {
  const output = 'first 1\nstep 12/20  loss 0.5\nlast (x)\n'
  expect(missingLines('step …/20  loss …\nlast (x)\n', output)).toEqual([])
  expect(missingLines('step …/30\nfirst\n', output)).toEqual(['step …/30'])
})

test('commands share a shell and a folder, servers run beside them, and files exist when they are used', async () => {
  const output = await run(
    [
      '```text run title="notes.txt"',
      'written',
      '```',
      '```sh run',
      'WORD=$(cat notes.txt)',
      'mkdir inner && cd inner',
      '```',
      '```sh run until="is ready"',
      'echo "the server is ready"; exec cat /dev/zero >/dev/null',
      '```',
      '```sh run',
      'echo "$WORD in $(basename "$PWD") with $FILE; home is ${HOME:-unset}"',
      '```',
      '```text run',
      'written in … with a.tgz; home is unset',
      'the server is ready',
      '```',
      '',
    ].join('\n'),
  )
  expect(output).toContain('written in inner')
})

test('stops at the first command that fails, and names its block', async () => {
  const failed = run('```sh run\necho before\nfalse\necho after\n```\n')
  await expect(failed).rejects.toThrow(/block at line 1 failed[^]*before/)
  await expect(failed).rejects.not.toThrow(/after/)
})

test('a block may name the exit code of its command', async () => {
  expect(await run('```sh run exit=6\nsh -c "exit 6"\n```\n```sh run\necho after\n```\n')).toContain('after')
  await expect(run('```sh run exit=6\nsh -c "exit 5"\n```\n')).rejects.toThrow('block at line 1')
  await expect(run('```sh run exit=6\ntrue\n```\n')).rejects.toThrow('block at line 1')
})

test('output that is missing fails, and names the lines', async () => {
  const failed = run('```sh run\necho one\n```\n```text run\ntwo\n```\n')
  await expect(failed).rejects.toMatchObject({
    message: expect.stringContaining('the block at line 4 failed'),
    cause: expect.objectContaining({ message: 'the output lacks:\ntwo' }),
  })
})

test('a server that ends before it is ready fails', async () => {
  await expect(run('```sh run until="ready"\necho no; exit 3\n```\n')).rejects.toThrow(/no\n/)
})

test('what a page starts in the background ends with it', async () => {
  const output = await run('```sh run\nsleep 600 &\necho "pid $!"\n```\n')
  const pid = /pid (\d+)/.exec(output)?.[1] ?? ''
  const state = (): string => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] ?? ''
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone'
      throw error
    }
  }
  await expect.poll(state).toMatch(/gone|Z/)
})

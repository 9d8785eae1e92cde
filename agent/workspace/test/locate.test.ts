import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { PathIntent } from '../src/index.ts'
import { ADDRESSINGS, loadWith } from './load.ts'

function makeWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-path-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const workspace = join(base, 'ws')
  mkdirSync(join(workspace, 'src/deep'), { recursive: true })
  mkdirSync(join(workspace, '.cairn/results'), { recursive: true })
  mkdirSync(join(base, 'ws-other'))
  writeFileSync(join(workspace, 'src/a.txt'), 'a')
  writeFileSync(join(base, 'secret.txt'), 'secret')
  const links: Record<string, string> = {
    'to-secret': join(base, 'secret.txt'),
    'to-outside': base,
    'to-src': join(workspace, 'src'),
    'src/deep/up': '../a.txt',
    'src/deep/up-and-up': '../../src/./deep//../a.txt',
    'round-about': '../ws/src/a.txt',
    'chain-1': 'chain-2/a.txt',
    'chain-2': 'to-src',
    'to-root': '.',
    'to-nothing': 'src/nothing-yet',
    'to-nothing-outside': join(base, 'nothing-yet'),
    'loop-a': 'loop-b',
    'loop-b': 'loop-a',
    'up-from-root': '../secret.txt',
    'up-from-below': 'src/../../secret.txt',
    'through-file': 'src/a.txt/../a.txt',
    'to-reserved': join(workspace, '.cairn'),
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(workspace, name))
  return { base, workspace }
}

describe.each(ADDRESSINGS)('by %s', async addressing => {
  const { locate, pathProblem } = await loadWith(addressing)
  const shown = async (workspace: string, given: string, intent: PathIntent = 'read') => {
    await using at = await locate(workspace, given, intent)
    return at.shown
  }

  test.each([
    ['src/a.txt', 'src/a.txt'],
    ['./src/../src/a.txt', 'src/a.txt'],
    ['src//a.txt', 'src/a.txt'],
    ['.', '.'],
    ['new/deep/file', 'new/deep/file'],
    ['__WORKSPACE__', '.'],
    ['__WORKSPACE__/src/a.txt', 'src/a.txt'],
    ['__WORKSPACE__x', '__WORKSPACE__x'],
    ['to-src/a.txt', 'src/a.txt'],
    ['to-src', 'src'],
    ['to-src/new.txt', 'src/new.txt'],
    ['to-src/deep/up', 'src/a.txt'],
    ['src/deep/up-and-up', 'src/a.txt'],
    ['round-about', 'src/a.txt'],
    ['chain-1', 'src/a.txt'],
    ['to-root/to-root/src', 'src'],
    ['to-root', '.'],
    ['..dots', '..dots'],
  ])('resolves %s inside the workspace to %s', async (given, expected) => {
    expect(await shown(makeWorkspace().workspace, given, 'write')).toBe(expected)
  })

  test('accepts absolute paths below the workspace only', async () => {
    const { base, workspace } = makeWorkspace()
    expect(await shown(workspace, join(workspace, 'src/a.txt'))).toBe('src/a.txt')
    expect(await shown(workspace, workspace)).toBe('.')
    for (const path of [join(base, 'secret.txt'), join(base, 'ws-other/x'), '/etc/passwd', '/'])
      expect(await pathProblem(workspace, path, 'read')).toMatch(/outside the workspace/)
  })

  test.each([
    ['../secret.txt', /outside the workspace/],
    ['src/../../secret.txt', /outside/],
    ['__WORKSPACE__/../secret.txt', /outside/],
    ['to-secret', /leads out .* symbolic link/],
    ['to-outside/secret.txt', /leads out/],
    ['to-outside/new.txt', /leads out/],
    ['up-from-root', /leads out/],
    ['up-from-below', /leads out/],
    ['to-nothing', /missing target/],
    ['to-nothing/x', /missing target/],
    // The message does not reveal whether something exists outside.
    ['to-nothing-outside', /leads out/],
    ['loop-a', /cycle/],
    ['src/a.txt/x', /a file as a folder/],
    ['through-file', /a file as a folder/],
    ['a\0b', /NUL/],
    ['x'.repeat(300), /longer than the operating system allows/],
    ['a/'.repeat(3000), /not there|longer|segments/],
  ])('reports the problem of the path %j, if it has one', async (given, problem) => {
    const { workspace } = makeWorkspace()
    const said = await pathProblem(workspace, given, 'read')
    // Missing folders are not a problem until they must be created.
    if (given.startsWith('a/')) expect(said).toBeNull()
    else expect(said).toMatch(problem)
  })

  test.each(['.cairn/results/x.txt', '.CAIRN/x', 'src/../.cairn/x', 'to-reserved/results/x.txt'])(
    '%s can be read but not written',
    async given => {
      const { workspace } = makeWorkspace()
      expect(await pathProblem(workspace, given, 'read')).toBeNull()
      expect(await pathProblem(workspace, given, 'write')).toContain('is read-only')
    },
  )

  test("access to the service's own files through a link is rejected, wherever it leads", async () => {
    const { workspace } = makeWorkspace()
    expect(await shown(workspace, '.cairn/results/x.txt', 'own')).toBe('.cairn/results/x.txt')
    expect(await pathProblem(workspace, 'to-reserved/results/x.txt', 'own')).toContain(
      'through a symbolic link',
    )
  })

  test('a workspace behind a link of the operator works under both of its names', async () => {
    const { base, workspace } = makeWorkspace()
    symlinkSync(base, join(base, 'ws-other/link'))
    const alias = join(base, 'ws-other/link/ws')
    expect(await shown(alias, join(alias, 'src/a.txt'))).toBe('src/a.txt')
    expect(await shown(alias, join(workspace, 'src/a.txt'))).toBe('src/a.txt')
    // Links inside the workspace work as well.
    expect(await shown(alias, 'to-src/a.txt')).toBe('src/a.txt')
  })

  test('does not follow a link as the workspace; a missing workspace is an error, not a PathProblem', async () => {
    const { base, workspace } = makeWorkspace()
    symlinkSync(workspace, join(base, 'link'))
    for (const path of [join(base, 'link'), join(base, 'none')])
      await expect(pathProblem(path, 'src/a.txt', 'read')).rejects.toThrow(/^(?:ENOENT|ENOTDIR|ELOOP)/)
  })

  test('rejects links that go up and down endlessly', async () => {
    const { workspace } = makeWorkspace()
    mkdirSync(join(workspace, 'x/'.repeat(100)), { recursive: true })
    symlinkSync('x/'.repeat(100) + '../x/'.repeat(600), join(workspace, 'yoyo'))
    expect(await pathProblem(workspace, 'yoyo', 'read')).toContain('too many segments')
  })

  test('leaves no file descriptor open for any path', async () => {
    const { workspace } = makeWorkspace()
    const paths = ['src/a.txt', 'new/x', 'to-secret', 'loop-a', 'src/a.txt/x', 'src/deep/up', 'round-about']
    const once = async () => {
      for (const path of paths) await pathProblem(workspace, path, 'write')
    }
    const open = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)
    await once()
    const before = open()
    for (let round = 0; round < 20; round += 1) await once()
    expect(open()).toBeLessThanOrEqual(before)
  })
})

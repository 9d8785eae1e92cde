import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mustResolve, readText, replaceFile } from './workspace-file.ts'
import { workspaceMask } from './workspace-mask.ts'
import { resolvePath } from './workspace-path.ts'

function makeWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-path-')))
  const workspace = join(base, 'ws')
  mkdirSync(join(workspace, 'src'), { recursive: true })
  mkdirSync(join(workspace, '.cairn/results'), { recursive: true })
  mkdirSync(join(base, 'ws-other'))
  writeFileSync(join(workspace, 'src/a.txt'), 'a')
  writeFileSync(join(base, 'secret.txt'), 'secret')
  symlinkSync(join(base, 'secret.txt'), join(workspace, 'to-secret'))
  symlinkSync(base, join(workspace, 'to-outside'))
  symlinkSync(join(workspace, 'src'), join(workspace, 'to-src'))
  symlinkSync(join(base, 'nothing-yet'), join(workspace, 'to-nothing'))
  symlinkSync('loop-b', join(workspace, 'loop-a'))
  symlinkSync('loop-a', join(workspace, 'loop-b'))
  symlinkSync(join(workspace, '.cairn'), join(workspace, 'to-reserved'))
  return { base, workspace }
}

test.each([
  ['src/a.txt', 'src/a.txt'],
  ['./src/../src/a.txt', 'src/a.txt'],
  ['.', '.'],
  ['new/deep/file', 'new/deep/file'],
  ['__WORKSPACE__', '.'],
  ['__WORKSPACE__/src/a.txt', 'src/a.txt'],
  ['to-src/a.txt', 'src/a.txt'],
  ['to-src/new.txt', 'src/new.txt'],
  ['..dots', '..dots'],
])('%s is inside the workspace, as %s', async (given, shown) => {
  const { workspace } = makeWorkspace()
  expect(await resolvePath(workspace, given, 'write')).toEqual({
    ok: true,
    path: shown === '.' ? workspace : join(workspace, shown),
    shown,
  })
})

test('absolute paths are taken below the workspace and nowhere else', async () => {
  const { base, workspace } = makeWorkspace()
  expect(await resolvePath(workspace, join(workspace, 'src/a.txt'), 'read')).toMatchObject({
    ok: true,
    shown: 'src/a.txt',
  })
  for (const path of [join(base, 'secret.txt'), join(base, 'ws-other/x'), '/etc/passwd', '/'])
    expect(await resolvePath(workspace, path, 'read')).toMatchObject({ ok: false })
})

test.each([
  ['../secret.txt', /outside the workspace/],
  ['src/../../secret.txt', /outside/],
  ['__WORKSPACE__/../secret.txt', /outside/],
  ['__WORKSPACE__x', null],
  ['to-secret', /leads out .* symbolic link/],
  ['to-outside/secret.txt', /leads out/],
  ['to-outside/new.txt', /leads out/],
  ['to-nothing', /leads nowhere/],
  ['to-nothing/x', /leads nowhere/],
  ['loop-a', /circle/],
  ['src/a.txt/x', /as if it were a folder/],
  ['a\0b', /NUL/],
])('%j is judged', async (given, problem) => {
  const { workspace } = makeWorkspace()
  const resolved = await resolvePath(workspace, given, 'read')
  if (problem === null) expect(resolved).toMatchObject({ ok: true, shown: '__WORKSPACE__x' })
  else expect(resolved).toMatchObject({ ok: false, problem: expect.stringMatching(problem) as string })
})

test.each(['.cairn/results/x.txt', '.CAIRN/x', 'src/../.cairn/x', 'to-reserved/results/x.txt'])(
  '%s can be read and not written',
  async given => {
    const { workspace } = makeWorkspace()
    expect(await resolvePath(workspace, given, 'read')).toMatchObject({ ok: true })
    expect(await resolvePath(workspace, given, 'write')).toMatchObject({
      ok: false,
      problem: expect.stringContaining('can only be read') as string,
    })
  },
)

test('a workspace that is itself reached through a link works under both of its names', async () => {
  const { base, workspace } = makeWorkspace()
  const link = join(base, 'link')
  symlinkSync(workspace, link)
  expect(await resolvePath(link, join(link, 'src/a.txt'), 'read')).toMatchObject({
    ok: true,
    path: join(workspace, 'src/a.txt'),
  })
  expect(await resolvePath(link, join(workspace, 'src/a.txt'), 'read')).toMatchObject({
    ok: true,
    shown: 'src/a.txt',
  })
  const { mask } = workspaceMask(link)
  expect(mask([join(link, 'x'), join(workspace, 'x')])).toEqual(['__WORKSPACE__/x', '__WORKSPACE__/x'])
})

test('a link put in the place of a file after the check is not read through', async () => {
  const { base, workspace } = makeWorkspace()
  const { path, shown } = await mustResolve(workspace, 'src/late.txt', 'read')
  symlinkSync(join(base, 'secret.txt'), path)
  await expect(readText(workspace, path, shown)).rejects.toThrow(/ELOOP|changed/)
})

test('a folder swapped for a link after the check is not read or written through', async () => {
  const { base, workspace } = makeWorkspace()
  const target = await mustResolve(workspace, 'fresh/secret.txt', 'write')
  symlinkSync(base, join(workspace, 'fresh'))
  await expect(readText(workspace, target.path, target.shown)).rejects.toThrow(
    'changed while it was being opened',
  )
  await expect(replaceFile(workspace, target.path, 'overwritten')).rejects.toThrow(
    'changed while the file was being written',
  )
  expect(await readText(base, join(base, 'secret.txt'), 'secret.txt')).toBe('secret')
})

test('a link put in the place of a file after the check is replaced, not followed', async () => {
  const { base, workspace } = makeWorkspace()
  const { path } = await mustResolve(workspace, 'src/late.txt', 'write')
  symlinkSync(join(base, 'secret.txt'), path)
  await replaceFile(workspace, path, 'mine')
  expect(await readText(workspace, path, 'late')).toBe('mine')
  expect(await readText(base, join(base, 'secret.txt'), 'secret.txt')).toBe('secret')
})

test('the mask goes out and comes back, in keys and in the depth of a value', () => {
  const { workspace } = makeWorkspace()
  const { mask, unmask } = workspaceMask(workspace)
  const value = {
    [`${workspace}/k`]: [`cat ${workspace}/a.txt > ${workspace}`, { n: 1, none: null }],
    same: 'text',
  }
  expect(mask(value)).toEqual({
    '__WORKSPACE__/k': ['cat __WORKSPACE__/a.txt > __WORKSPACE__', { n: 1, none: null }],
    same: 'text',
  })
  expect(unmask(mask(value))).toEqual(value)
})

test('the mask leaves a neighbour whose name begins like the workspace as it is', () => {
  const { workspace } = makeWorkspace()
  const { mask } = workspaceMask(workspace)
  expect(mask(`${workspace}-other/x ${workspace}2 ${workspace}.bak ${workspace}.`)).toBe(
    `${workspace}-other/x ${workspace}2 ${workspace}.bak __WORKSPACE__.`,
  )
})

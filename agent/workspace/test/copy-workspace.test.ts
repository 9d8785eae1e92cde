/** A copy of a workspace, and the list of its later changes. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { CopiedFile } from '../src/index.ts'
import { ADDRESSINGS, loadWith } from './load.ts'

const OPTIONS = { max_bytes: 10_000, max_files: 100, skip: ['.cairn'], keep_bytes: 100 }

function makeSource(): { base: string; source: string; target: string } {
  const base = mkdtempSync(join(tmpdir(), 'cairn-copy-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const source = join(base, 'source')
  for (const folder of ['a/b', 'empty', '.cairn/results'])
    mkdirSync(join(source, folder), { recursive: true })
  writeFileSync(join(source, 'top.txt'), 'top')
  writeFileSync(join(source, 'a/b/run.sh'), '#!/bin/sh\n')
  chmodSync(join(source, 'a/b/run.sh'), 0o750)
  writeFileSync(join(source, 'large.bin'), Buffer.alloc(500, 1))
  writeFileSync(join(source, '.cairn/results/cut.txt'), 'of the session that it was cut for')
  writeFileSync(join(base, 'secret.txt'), 'outside')
  symlinkSync('../secret.txt', join(source, 'out'))
  symlinkSync('a/b', join(source, 'in'))
  return { base, source, target: join(base, 'target') }
}

test.each(ADDRESSINGS)(
  'with access by %s, a copy has the same files, modes and links, and reports what it copied',
  async addressing => {
    const { copyWorkspace } = await loadWith(addressing)
    const { source, target } = makeSource()
    const told = new Map<string, { file: CopiedFile; content: string | null }>()
    await copyWorkspace(source, target, {
      ...OPTIONS,
      signal: new AbortController().signal,
      onFile: async (path, file, content) =>
        void told.set(path, { file, content: content?.toString() ?? null }),
    })
    expect([...told.keys()].toSorted()).toEqual(['a/b/run.sh', 'large.bin', 'top.txt'])
    expect(told.get('top.txt')).toMatchObject({ content: 'top', file: { mode: 0o644, size: 3 } })
    expect(told.get('large.bin')?.content, 'too long to be kept').toBeNull()
    expect(readFileSync(join(target, 'a/b/run.sh'), 'utf8')).toBe('#!/bin/sh\n')
    expect(statSync(join(target, 'a/b/run.sh')).mode & 0o777).toBe(0o750)
    expect(statSync(join(target, 'empty')).isDirectory()).toBe(true)
    // A link is copied as a link: its target is not copied.
    expect(readlinkSync(join(target, 'out'))).toBe('../secret.txt')
    expect(readlinkSync(join(target, 'in'))).toBe('a/b')
    expect(() => lstatSync(join(target, '.cairn'))).toThrow('ENOENT')
  },
)

test.each(ADDRESSINGS)(
  'with access by %s, lists every file added, changed or removed since, and no other',
  async addressing => {
    const { copyWorkspace, changedFiles } = await loadWith(addressing)
    const { source, target } = makeSource()
    const copied: Record<string, CopiedFile> = {}
    await copyWorkspace(source, target, {
      ...OPTIONS,
      signal: new AbortController().signal,
      onFile: async (path, file) => void (copied[path] = file),
    })
    const changes = async () =>
      (await changedFiles(target, copied, ['.cairn'])).map(({ path, was, now }) => [
        path,
        was !== null,
        now !== null,
      ])
    expect(await changes()).toEqual([])
    // The same size and a restored modification time do not hide a change.
    const before = statSync(join(target, 'top.txt'))
    writeFileSync(join(target, 'top.txt'), 'pot')
    utimesSync(join(target, 'top.txt'), before.atime, before.mtime)
    rmSync(join(target, 'large.bin'))
    writeFileSync(join(target, 'a/new.txt'), 'new')
    mkdirSync(join(target, '.cairn'))
    writeFileSync(join(target, '.cairn/x'), 'x')
    // Rewritten with the same content.
    writeFileSync(join(target, 'a/b/run.sh'), '#!/bin/sh\n')
    expect(await changes()).toEqual([
      ['a/new.txt', false, true],
      ['large.bin', true, false],
      ['top.txt', true, true],
    ])
    chmodSync(join(target, 'a/b/run.sh'), 0o700)
    expect(await changes()).toContainEqual(['a/b/run.sh', true, true])
  },
)

test.each([
  ['files', { max_files: 3 }, 'more than 3 files'],
  ['bytes', { max_bytes: 400 }, 'more than 400 bytes'],
])('rejects copying a workspace with too many %s', async (_what, limit, message) => {
  const { copyWorkspace, TooLarge } = await loadWith('descriptor')
  const { source, target } = makeSource()
  const copying = copyWorkspace(source, target, {
    ...OPTIONS,
    ...limit,
    signal: new AbortController().signal,
    onFile: async () => {},
  })
  await expect(copying).rejects.toThrow(TooLarge)
  await expect(copying).rejects.toThrow(message)
})

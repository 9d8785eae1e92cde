import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ADDRESSINGS, loadWith } from './load.ts'

function makeWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-file-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const [workspace, outside] = [join(base, 'ws'), join(base, 'outside')]
  mkdirSync(join(workspace, 'src'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(workspace, 'src/a.txt'), 'a')
  for (const name of ['a.txt', 'secret.txt']) writeFileSync(join(outside, name), 'secret')
  return { base, workspace, outside }
}

describe.each(ADDRESSINGS)('by %s', async addressing => {
  const { copyFolder, locate, openFile, putFolder, readText, removeFile, removeTree, replaceFile } =
    await loadWith(addressing)

  test('does not read through a link that replaced a file after the lookup', async () => {
    const { workspace, outside } = makeWorkspace()
    await using at = await locate(workspace, 'src/a.txt', 'read')
    rmSync(join(workspace, 'src/a.txt'))
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'src/a.txt'))
    await expect(readText(at)).rejects.toThrow("'src/a.txt' changed while it was being opened")
  })

  test('a folder replaced by a link after the lookup gives no read, write or removal outside', async () => {
    const { workspace, outside } = makeWorkspace()
    await using at = await locate(workspace, 'src/a.txt', 'write')
    renameSync(join(workspace, 'src'), join(workspace, 'aside'))
    symlinkSync(outside, join(workspace, 'src'))
    const settled = await Promise.allSettled([readText(at), replaceFile(at, 'mine')])
    const removed = await Promise.allSettled([removeFile(at)])
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'secret.txt'])
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('secret')
    // By descriptor the operations act on the moved folder. By path they are rejected.
    expect([...settled, ...removed].map(({ status }) => status)).toEqual(
      Array(3).fill(addressing === 'descriptor' ? 'fulfilled' : 'rejected'),
    )
  })

  test('a write replaces a link that appeared after the lookup, and does not follow it', async () => {
    const { workspace, outside } = makeWorkspace()
    await using at = await locate(workspace, 'src/late.txt', 'write')
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'src/late.txt'))
    expect(await replaceFile(at, 'mine')).toEqual({ created: true })
    expect(readFileSync(join(workspace, 'src/late.txt'), 'utf8')).toBe('mine')
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret')
  })

  test('rejects a link at the path of a folder to create, and leaves nothing behind', async () => {
    const { workspace, outside } = makeWorkspace()
    await using at = await locate(workspace, 'fresh/deep/x.txt', 'write')
    symlinkSync(outside, join(workspace, 'fresh'))
    await expect(replaceFile(at, 'mine')).rejects.toThrow(
      "'fresh/deep/x.txt' changed while it was being written",
    )
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'secret.txt'])
  })

  test('does not block on a FIFO, and reads a growing file up to its size when opened', async () => {
    const { workspace } = makeWorkspace()
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    await using pipe = await locate(workspace, 'pipe', 'read')
    await expect(openFile(pipe)).rejects.toThrow('not a regular file')
    await using late = await locate(workspace, 'src/a.txt', 'read')
    rmSync(join(workspace, 'src/a.txt'))
    renameSync(join(workspace, 'pipe'), join(workspace, 'src/a.txt'))
    await expect(openFile(late)).rejects.toThrow('not a regular file')

    writeFileSync(join(workspace, 'grows'), 'four')
    await using grows = await locate(workspace, 'grows', 'read')
    await using file = await openFile(grows)
    writeFileSync(join(workspace, 'grows'), ' and more', { flag: 'a' })
    expect((await file.read(100)).toString()).toBe('four')
  })

  test('an error of the system does not reveal the path by which the file was reached', async () => {
    const { workspace } = makeWorkspace()
    await using at = await locate(workspace, `src/${'x'.repeat(250)}`, 'write')
    rmSync(join(workspace, 'src'), { recursive: true })
    await expect(replaceFile(at, '')).rejects.toThrow(/^'src\/x+' changed while it was being written$/)
  })

  test('putFolder copies a folder into the workspace with modes and links, replacing what was there', async () => {
    const { base, workspace, outside } = makeWorkspace()
    const source = join(base, 'source')
    mkdirSync(join(source, 'bin'), { recursive: true })
    writeFileSync(join(source, 'bin/run.sh'), 'echo hi')
    chmodSync(join(source, 'bin/run.sh'), 0o755)
    symlinkSync('bin/run.sh', join(source, 'run'))
    writeFileSync(join(source, 'left-out'), '')
    mkdirSync(join(workspace, '.cairn'))
    symlinkSync(outside, join(workspace, '.cairn/skills'))
    for (let time = 0; time < 2; time += 1) {
      await putFolder(workspace, ['.cairn', 'skills', 'x'], source, ['bin', 'run'])
      const put = join(workspace, '.cairn/skills/x')
      expect(readdirSync(put).toSorted()).toEqual(['bin', 'run'])
      expect(readFileSync(join(put, 'run'), 'utf8')).toBe('echo hi')
      expect(statSync(join(put, 'bin/run.sh')).mode & 0o777).toBe(0o755)
      writeFileSync(join(put, 'old'), '')
    }
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'secret.txt'])
  })

  test('copies a workspace with its modes, times and links, and nothing from outside', async () => {
    const { base, workspace, outside } = makeWorkspace()
    const copy = join(base, 'copy')
    chmodSync(join(workspace, 'src/a.txt'), 0o751)
    utimesSync(join(workspace, 'src/a.txt'), 1000, 2000)
    utimesSync(join(workspace, 'src'), 1000, 3000)
    symlinkSync(outside, join(workspace, 'out'))
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    const strange = Buffer.from([0xff, 0xfe])
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), strange]), 'no UTF-8')
    expect(await copyFolder(workspace, copy)).toBe(1)
    expect(readdirSync(copy, { encoding: 'buffer' }).map(String).toSorted()).toEqual(
      ['out', 'src', strange.toString()].toSorted(),
    )
    expect(readFileSync(Buffer.concat([Buffer.from(`${copy}/`), strange]), 'utf8')).toBe('no UTF-8')
    expect(readlinkSync(join(copy, 'out'))).toBe(outside)
    const { mode, mtimeMs } = statSync(join(copy, 'src/a.txt'))
    expect([mode & 0o777, mtimeMs, statSync(join(copy, 'src')).mtimeMs]).toEqual([
      0o751, 2_000_000, 3_000_000,
    ])
    expect(await copyFolder(join(base, 'none'), join(base, 'nothing'))).toBe(1)
  })

  test('a copy does not write through a link at its destination', async () => {
    const { base, workspace, outside } = makeWorkspace()
    const copy = join(base, 'copy')
    mkdirSync(copy)
    symlinkSync(outside, join(copy, 'src'))
    await expect(copyFolder(workspace, copy)).rejects.toThrow('EEXIST')
    symlinkSync(outside, join(base, 'copy-link'))
    await expect(copyFolder(workspace, join(base, 'copy-link'))).rejects.toThrow('EEXIST')
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('secret')
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'secret.txt'])
  })

  test('removes a tree with its content, and follows no link in it', async () => {
    const { base, workspace, outside } = makeWorkspace()
    symlinkSync(outside, join(workspace, 'src/link'))
    symlinkSync('nowhere', join(workspace, 'dangling'))
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    mkdirSync(join(workspace, 'a/b/c/d/e'), { recursive: true })
    writeFileSync(join(workspace, 'a/b/c/d/e/f'), '')
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/a/b/`), Buffer.from([0xff, 0xfe])]), 'no UTF-8')
    await removeTree(base, 'ws')
    expect(readdirSync(base)).toEqual(['outside'])
    expect(readdirSync(outside).toSorted()).toEqual(['a.txt', 'secret.txt'])
    await removeTree(base, 'ws')
    symlinkSync(outside, join(base, 'ws'))
    await removeTree(base, 'ws')
    expect(readdirSync(base)).toEqual(['outside'])
  })
})

test('removes a tree deeper than the maximum path length, with folders without permissions', async () => {
  const { removeTree } = await loadWith('descriptor')
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-deep-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  // Each iteration moves the tree below another long path, which no system call can then name.
  for (let turn = 0; turn < 5; turn += 1) {
    const path = join(base, `turn-${turn}`, 'dddd/'.repeat(500))
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'f'), '')
    if (turn > 0) renameSync(join(base, `turn-${turn - 1}`), join(path, 'more'))
  }
  renameSync(join(base, 'turn-4'), join(base, 'ws'))
  mkdirSync(join(base, 'ws/locked/inner'), { recursive: true })
  writeFileSync(join(base, 'ws/locked/inner/x'), '')
  chmodSync(join(base, 'ws/locked/inner'), 0o000)
  chmodSync(join(base, 'ws/locked'), 0o000)
  await removeTree(base, 'ws')
  expect(readdirSync(base)).toEqual([])
})

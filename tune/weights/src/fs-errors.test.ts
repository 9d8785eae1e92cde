import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeAll, writeAtomically } from './atomic-file.ts'
import { makeDirectories, makeDirectory } from './fs-errors.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-paths-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('creates a directory with its parents, concurrently, and accepts an existing one', async () => {
  const deep = join(directory, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => makeDirectories(deep)))
  await makeDirectories(deep)
  expect(statSync(deep).isDirectory()).toBe(true)
})

test('rejects a path where the file system allows no directories by name', async () => {
  await expect(makeDirectory('/proc/cairn/run', 'output_dir')).rejects.toThrow(
    'output_dir /proc/cairn/run: cannot create a directory here; the file system does not allow it',
  )
})

test('names a file that blocks the directory', async () => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')])
    await expect(makeDirectory(path, 'output')).rejects.toThrow(`output ${path}: is a file, or below a file`)
})

test('a full disk is an error with the path, and the existing file stays', async () => {
  const path = join(directory, 'kept')
  writeFileSync(path, 'before')
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  await expect(
    writeAtomically(path, async file => {
      await writeAll(file, new Uint8Array(8))
      throw full
    }),
  ).rejects.toThrow(`${path}: cannot write (ENOSPC: no space left on device, write)`)
  expect(statSync(path).size).toBe(6)
})

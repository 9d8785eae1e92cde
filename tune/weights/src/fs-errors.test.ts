import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeAll, writeAtomically } from './atomic-file.ts'
import { makeDirectories, makeDirectory } from './fs-errors.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-paths-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('a directory is made with those above it, by several at once, and one that is there stays', async () => {
  const deep = join(directory, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => makeDirectories(deep)))
  await makeDirectories(deep)
  expect(statSync(deep).isDirectory()).toBe(true)
})

test('a place where the system keeps no directories is refused at once, by name', async () => {
  await expect(makeDirectory('/proc/cairn/run', 'output_dir')).rejects.toThrow(
    'output_dir /proc/cairn/run: cannot create a directory here; the file system does not allow it',
  )
})

test('a file in the way is named', async () => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')])
    await expect(makeDirectory(path, 'output')).rejects.toThrow(`output ${path}: is a file, or below a file`)
})

test('a disk that is full is an error with the path in it, and what was there stays', async () => {
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

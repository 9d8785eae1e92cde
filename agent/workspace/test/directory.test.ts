import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Directory } from '../src/index.ts'

function makeFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-directory-')))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

test('close waits for running operations, so that the descriptor number is not reused meanwhile', async () => {
  const path = makeFolder()
  writeFileSync(join(path, 'x'), 'here')
  const folder = await Directory.open(path)
  let found = 0
  // More than there are threads: most have not started when the folder is closed.
  const looks = Array.from({ length: 200 }, async () => {
    if ((await folder.look('x'))?.size === 4) found += 1
  })
  await folder.close()
  expect(found).toBe(200)
  await Promise.all(looks)
  await folder.close()
  await expect(folder.look('x')).rejects.toThrow('used after it was closed')
})

test.each(['', '.', '..', 'a/b', '/', 'a\0'])('rejects %j as the name of an entry', async name => {
  await using folder = await Directory.open(makeFolder())
  await expect(folder.look(name)).rejects.toThrow('is not the name of an entry')
  await expect(folder.make(name)).rejects.toThrow('is not the name of an entry')
})

test('an error has the name of the entry', async () => {
  await using folder = await Directory.open(makeFolder())
  await folder.make('x')
  await expect(folder.make('x')).rejects.toThrow("EEXIST: file already exists, mkdir 'x'")
})

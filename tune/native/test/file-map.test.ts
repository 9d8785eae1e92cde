import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { forgetPages, loadAddon, mapFile } from '@cairn-tune/native'

// On a fresh clone the kernels are compiled first.
await loadAddon()
const directory = mkdtempSync(join(tmpdir(), 'cairn-map-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('a mapped file reads as it is, also after its pages were given back', async () => {
  const path = join(directory, 'numbers')
  const bytes = Uint8Array.from({ length: 3 * 4096 + 5 }, (_, i) => i % 251)
  writeFileSync(path, bytes)
  const mapped = await mapFile(path)
  expect(mapped).toEqual(bytes)
  await forgetPages(mapped.subarray(10))
  expect(mapped).toEqual(bytes)
})

test('writing to a mapped file changes memory and not the file', async () => {
  const path = join(directory, 'kept')
  writeFileSync(path, 'abc')
  const mapped = await mapFile(path)
  mapped[0] = 0x7a
  expect(new TextDecoder().decode(mapped)).toBe('zbc')
  expect(readFileSync(path, 'utf8')).toBe('abc')
})

test('a file that is missing or empty is an error with its path', async () => {
  writeFileSync(join(directory, 'empty'), '')
  await expect(mapFile(join(directory, 'empty'))).rejects.toThrow(/empty: cannot be mapped/)
  await expect(mapFile(join(directory, 'none'))).rejects.toThrow(/none: cannot be opened: No such file/)
})

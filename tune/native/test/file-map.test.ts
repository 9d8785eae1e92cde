import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createEngine, forgetPages, loadAddon, mapFile, mapSpool } from '@cairn-tune/native'

// A fresh clone compiles the kernels first.
await loadAddon()
const directory = mkdtempSync(join(tmpdir(), 'cairn-map-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('a mapped file reads the same after its pages are released', async () => {
  const path = join(directory, 'numbers')
  const bytes = Uint8Array.from({ length: 3 * 4096 + 5 }, (_, i) => i % 251)
  writeFileSync(path, bytes)
  const mapped = await mapFile(path)
  expect(mapped).toEqual(bytes)
  await forgetPages(mapped.subarray(10))
  expect(mapped).toEqual(bytes)
})

test('writing to a mapped file changes only memory, not the file', async () => {
  const path = join(directory, 'kept')
  writeFileSync(path, 'abc')
  const mapped = await mapFile(path)
  mapped[0] = 0x7a
  expect(new TextDecoder().decode(mapped)).toBe('zbc')
  expect(readFileSync(path, 'utf8')).toBe('abc')
})

test('a spool has no file name and keeps its contents when its pages are released', async () => {
  const spool = await mapSpool(directory, 3 * 4096)
  expect(readdirSync(directory).filter(name => name.startsWith('.base'))).toEqual([])
  spool.fill(7)
  await forgetPages(spool)
  expect(spool.every(byte => byte === 7)).toBe(true)
})

test('creating a spool without enough disk space fails before anything is written', async () => {
  await expect(mapSpool(directory, 2 ** 52)).rejects.toThrow(/no space for 4503599627370496 bytes of weights/)
  await expect(mapSpool(join(directory, 'none'), 4096)).rejects.toThrow(/none: cannot create a file here/)
})

// Linux reports which pages are in memory.
test('reads and releases pages of an adopted file', async () => {
  const path = join(directory, 'pages')
  const bytes = Uint8Array.from({ length: 64 * 4096 }, (_, i) => i % 251)
  writeFileSync(path, bytes)
  using engine = await createEngine({ threads: 1 })
  const file = engine.adoptFile(await mapFile(path))
  /** KiB of the file that are in memory. */
  const resident = () => {
    const maps = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    return Number(/^Rss: +(\d+)/m.exec(maps.find(map => map.includes(path)) ?? '')?.[1])
  }
  engine.letGo(file)
  expect(resident()).toBe(0)
  await engine.readIn(file)
  expect(resident()).toBe(256)
  engine.letGo(file)
  expect(resident()).toBe(0)
  expect(await engine.read(file)).toEqual(bytes)
})

test('rejects releasing pages of memory that is not mapped from a file', async () => {
  using engine = await createEngine({ threads: 1 })
  expect(() => engine.letGo(engine.allocate(8192))).toThrow('only buffers of adoptFile')
})

test('mapping a missing or empty file fails with its path', async () => {
  writeFileSync(join(directory, 'empty'), '')
  await expect(mapFile(join(directory, 'empty'))).rejects.toThrow(/empty: cannot map the file/)
  await expect(mapFile(join(directory, 'none'))).rejects.toThrow(/none: cannot open the file: No such file/)
})

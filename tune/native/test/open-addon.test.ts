/** Which addon is loaded: a named file, a prebuilt one, or one built on this machine. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildAddon, CPU_ADDON, sourcesHash } from '../src/build.ts'
import type { Addon } from '../src/load.ts'
import { openAddon } from '../src/open-addon.ts'

let folder = ''
let built = ''
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-prebuilt-'))
  built = await buildAddon()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const describeSources = (hash: string): void =>
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ sources: { cairn_tune: hash } }))
const neverBuilds = (): Promise<string> => Promise.reject(new Error('it was built'))

test('a named file replaces all others', async () => {
  const { addon, origin } = await openAddon({
    parts: CPU_ADDON,
    file: built,
    prebuilt: folder,
    build: neverBuilds,
  })
  expect((addon as Addon).isas()).toContain(process.arch === 'x64' ? 'portable' : 'neon')
  expect(origin).toBe(`${built}, named by CAIRN_TUNE_ADDON`)
})

test('loads a prebuilt addon of the same sources without a compiler', async () => {
  describeSources(sourcesHash(CPU_ADDON))
  copyFileSync(built, join(folder, 'cairn_tune.node'))
  const { addon, origin } = await openAddon({ parts: CPU_ADDON, prebuilt: folder, build: neverBuilds })
  expect((addon as Addon).processors()).toBeGreaterThan(0)
  expect(origin).toBe(`${join(folder, 'cairn_tune.node')}, prebuilt`)
})

test.each([
  ['of other sources', 'other', 'was built from other sources'],
  ['that this system cannot load', sourcesHash(CPU_ADDON), 'this system cannot load'],
])('builds instead of loading a prebuilt addon %s, and says why', async (_, hash, reason) => {
  describeSources(hash)
  writeFileSync(join(folder, 'cairn_tune.node'), 'no addon')
  const said: string[] = []
  const log = (line: string) => said.push(line)
  const { origin } = await openAddon({
    parts: CPU_ADDON,
    prebuilt: folder,
    log,
    build: () => Promise.resolve(built),
  })
  expect(origin).toContain(`${built}, built on this machine: `)
  expect(origin).toContain(reason)
  expect(said).toEqual([expect.stringContaining(reason)])
})

test('without a prebuilt addon it builds one and says nothing', async () => {
  const said: string[] = []
  const { origin } = await openAddon({
    parts: CPU_ADDON,
    log: line => said.push(line),
    build: () => Promise.resolve(built),
  })
  expect(origin).toMatch(/built on this machine: no .+ is installed$/)
  expect(said).toEqual([])
})

/**
 * A bundle has the files of its modules in one folder, so a source may name them only by the functions of
 * beside.ts, which the bundler finds.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assetBeside, folderOf, moduleBeside } from './beside.ts'
import { besideOf } from './release/bundle.ts'
import { listPackages, readSourcesOf, root } from './workspace.ts'

/** `cairn bench` runs only in a clone. */
const isBundled = (path: string): boolean => !path.startsWith('agent/app/src/bench/')

const sourcesOf = (product: 'agent' | 'tune') =>
  listPackages(product)
    .flatMap(pkg => readSourcesOf(product, pkg))
    .filter(({ isTest, path }) => !isTest && isBundled(path))

const URL_OF_ITS_OWN = /new URL\([^)]*\bimport\.meta\b|import\.meta\.(?:resolve|dirname|filename)\b/

test.each(['agent', 'tune'] as const)('%s names files beside its modules only through beside.ts', product => {
  const wrong = sourcesOf(product).filter(({ text }) => URL_OF_ITS_OWN.test(text))
  expect(wrong.map(({ path }) => path)).toEqual([])
})

test.each(['agent', 'tune'] as const)('the bundler of %s finds each call, and each file exists', product => {
  const found = sourcesOf(product).flatMap(({ path, text }) => {
    const calls = text.match(/(?:module|asset)Beside\(/g)?.length ?? 0
    const beside = besideOf(path, text)
    expect(beside.length, `${path}: arguments must be literals`).toBe(calls)
    return beside
  })
  const isBuilt = (source: string) => source.startsWith('agent/web/dist')
  expect(found.filter(({ source }) => !isBuilt(source) && !existsSync(join(root, source)))).toEqual([])

  const names = new Map<string, Set<string>>()
  for (const { source, bundledAs } of found)
    names.set(bundledAs, (names.get(bundledAs) ?? new Set()).add(source))
  const shared = [...names].filter(([, sources]) => sources.size > 1).map(([name]) => name)
  expect(shared, 'files of a bundle with the same name').toEqual([])
})

test('names the files of a source and of a bundle', () => {
  const source = { url: 'file:///a/log/src/sqlite/store.ts' }
  expect(moduleBeside(source, '../acp/start').href).toBe('file:///a/log/src/acp/start.ts')
  expect(assetBeside(source, './migrations/', 'other/').href).toBe('file:///a/log/src/sqlite/migrations/')
  expect(folderOf(source).href).toBe('file:///a/log/src/sqlite/')

  const bundled = { url: 'file:///p/agent/chunk-1.mjs' }
  expect(moduleBeside(bundled, '../acp/start').href).toBe('file:///p/agent/start.mjs')
  expect(assetBeside(bundled, '../sqlite/migrations/').href).toBe('file:///p/agent/migrations/')
  expect(assetBeside(bundled, './migrations/', 'other/').href).toBe('file:///p/agent/other/')
})

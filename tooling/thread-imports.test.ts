/**
 * Each thread pays again for what it loads: the contract's schemas take 120 ms of CPU and 10 MB. The threads
 * of the embedded store validate nothing, so they import the part of the contract without schemas.
 */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readImports, resolveRelative, root } from './workspace.ts'

const THREADS = ['sqlite/writer-thread.ts', 'sqlite/search/thread.ts', 'sqlite/check-thread.ts']
/** Modules of other packages that a thread may load. */
const SMALL: Record<string, string> = {
  '@cairn/protocol/words': 'agent/protocol/src/words.ts',
  '@cairn/tooling/beside': 'tooling/beside.ts',
}

/** Packages that a module loads directly, through its own files, or through the small modules. */
function loadedBy(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const walk = (path: string): void => {
    if (files.has(path)) return
    files.add(path)
    const text = readFileSync(join(root, path), 'utf8')
    for (const { specifier, isType } of readImports({ path, text })) {
      if (isType || isBuiltin(specifier)) continue
      const small = SMALL[specifier]
      if (small !== undefined) walk(small)
      else if (specifier.startsWith('.')) walk(resolveRelative(path, specifier))
      else packages.add(specifier)
    }
  }
  walk(entry)
  return { files, packages }
}

test.each(THREADS)('%s loads no schema and no package', thread => {
  const { files, packages } = loadedBy(`agent/log/src/${thread}`)
  expect([...packages]).toEqual([])
  expect(files).toContain('agent/protocol/src/events/event-facts.ts')
})

test('the walk finds what a module loads', () => {
  expect([...loadedBy('agent/protocol/src/events/lookups.ts').packages]).toEqual(['zod'])
})

/**
 * Folders of a package import each other in one direction, as packages do. A file beside the folders counts
 * by itself: the wiring file imports all folders, and all folders may import a small shared file.
 */
import { expect, test } from 'vitest'
import { findCycle } from './cycles.ts'
import { listPackages, readImports, readSources, resolveRelative } from './workspace.ts'

function graphOf(pkg: string): Map<string, string[]> {
  const src = `agent/${pkg}/src/`
  const nodeOf = (path: string): string => {
    const inner = path.slice(src.length)
    return inner.includes('/') ? inner.slice(0, inner.indexOf('/')) : inner
  }
  const graph = new Map<string, string[]>()
  for (const file of readSources(pkg).filter(({ isTest }) => !isTest)) {
    const from = nodeOf(file.path)
    const to = readImports(file)
      .filter(({ specifier, isType }) => specifier.startsWith('.') && !isType)
      .map(({ specifier }) => nodeOf(resolveRelative(file.path, specifier)))
      .filter(node => node !== from)
    graph.set(from, [...(graph.get(from) ?? []), ...to])
  }
  return graph
}

test.each(listPackages())('the folders of agent/%s have no import cycle', pkg => {
  expect(findCycle(graphOf(pkg))?.join(' → ')).toBeUndefined()
})

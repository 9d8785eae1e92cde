/**
 * Folders of a package import each other in one direction, as packages do, and so do the folders within a
 * folder. A file beside the folders counts by itself: the wiring file imports all folders, and all folders
 * may import a small shared file.
 */
import { expect, test } from 'vitest'
import { findCycle } from './cycles.ts'
import { listPackages, readImports, readSources, resolveRelative, type SourceFile } from './workspace.ts'

/** The imports between the children of `folder`, without those of types. */
function graphOf(sources: readonly SourceFile[], folder: string): Map<string, string[]> {
  const nodeOf = (path: string): string => path.slice(folder.length).split('/')[0] ?? ''
  const graph = new Map<string, string[]>()
  for (const file of sources.filter(({ path }) => path.startsWith(folder))) {
    const from = nodeOf(file.path)
    const to = readImports(file)
      .filter(({ specifier, isType }) => specifier.startsWith('.') && !isType)
      .map(({ specifier }) => resolveRelative(file.path, specifier))
      .filter(path => path.startsWith(folder))
      .map(nodeOf)
      .filter(node => node !== from)
    graph.set(from, [...(graph.get(from) ?? []), ...to])
  }
  return graph
}

/** Each folder of the package that contains folders, with a slash at its end. */
function foldersOf(sources: readonly SourceFile[], src: string): string[] {
  const parents = sources.flatMap(({ path }) => {
    const inner = path.slice(src.length).split('/').slice(0, -1)
    return inner.map(
      (_, depth) =>
        `${src}${inner
          .slice(0, depth)
          .map(name => `${name}/`)
          .join('')}`,
    )
  })
  return [...new Set([src, ...parents])]
}

test.each(listPackages())('the folders of agent/%s have no import cycle at any depth', pkg => {
  const sources = readSources(pkg).filter(({ isTest }) => !isTest)
  const cycles = foldersOf(sources, `agent/${pkg}/src/`).flatMap(folder => {
    const cycle = findCycle(graphOf(sources, folder))
    return cycle === undefined ? [] : [`${folder}: ${cycle.join(' → ')}`]
  })
  expect(cycles).toEqual([])
})

/**
 * A policy that names an unknown tool is rejected at start, so the list of tools must be complete: it has
 * exactly the tools that the sources define.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CODE_PERMISSIONS, TOOL_NAMES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const sources = listPaths('agent')
  .filter(path => /^agent\/[^/]+\/src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const all = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found!)
const sourceOf = (path: string): string => sources.find(each => each.path === path)?.text ?? ''

test('the list has exactly the tools that the sources define', () => {
  const constants = new Map(
    sources.flatMap(({ text }) =>
      [...text.matchAll(/const ([A-Z_]+) = '([a-z_]+)'/g)].map(([, name, value]) => [name!, value!] as const),
    ),
  )
  const defined = sources.flatMap(({ text }) =>
    all(/defineTool\(\{\s*name: ('[a-z_]+'|[A-Z_]+)/g, text).map(
      name => constants.get(name) ?? name.replaceAll("'", ''),
    ),
  )
  const ofBrowser = all(/'(browser_[a-z_]+)'/g, sourceOf('agent/harness/src/capabilities/browser/offered.ts'))
  const ofDemo = all(/\n {2}name: '([a-z_]+)'/g, sourceOf('agent/app/src/demo/demo-tools.ts'))
  expect(defined.length).toBeGreaterThan(30)
  expect([...TOOL_NAMES].toSorted()).toEqual([...new Set([...defined, ...ofBrowser, ...ofDemo])].toSorted())
})

test('the list has exactly the permissions that a coding agent may request', () => {
  const text = sourceOf('agent/harness/src/capabilities/code/permissions.ts')
  const kinds = all(/'([a-z]+)'/g, /KINDS: readonly ToolKind\[\] = \[([^\]]+)\]/.exec(text)?.[1] ?? '')
  expect([...CODE_PERMISSIONS].toSorted()).toEqual([...kinds, 'push'].map(kind => `code.${kind}`).toSorted())
})

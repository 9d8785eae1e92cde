/**
 * No line of code, including comments, is wider than 110 columns. What a string or a template literal holds
 * does not count: a message stays searchable, and a statement of SQL stays whole. Other lines that cannot be
 * broken are exempt: a test title, which docs/promises.md quotes, a regular expression, and the path of a
 * drawing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseSync } from 'vite'
import { listPaths, root } from './workspace.ts'

const MAX_COLUMNS = 110

const isChecked = (path: string): boolean =>
  /\.(?:ts|tsx|mjs|css|cc|cpp|h|hpp|cu|cuh)$/.test(path) && !path.includes('/generated/')

const LET_THROUGH = [
  /** The title of a test, of a table of tests, or of a row of one, with what follows it on the line. */
  /^\s*(?:\]\)\(|(?:test|it|describe)\b[^'"`]*\()?\s*(['"`]).*\1(?:,|\)|:)[^'"`]*$/,
  /^\s*\/.*\/[a-z]*[,;.)]*(?:test\($)?$/,
  /<path d="/,
]
const isTest = (path: string): boolean => /\.test\.tsx?$|\/(?:test|e2e)\//.test(path)

const isWide = (line: string): boolean => line.length > MAX_COLUMNS

/** The ranges of the contents of literals in a syntax tree. */
function* literalsIn(node: unknown): Generator<{ start: number; end: number }> {
  if (typeof node !== 'object' || node === null) return
  const { type, value, start, end } = node as { type?: string; value?: unknown; start: number; end: number }
  if (type === 'TemplateElement' || (type === 'Literal' && typeof value === 'string')) yield { start, end }
  else for (const inner of Object.values(node)) yield* literalsIn(inner)
}

/** The text with the contents of its literals left out, line by line. */
function withoutLiterals(path: string, text: string): string {
  let rest = ''
  let from = 0
  for (const { start, end } of literalsIn(parseSync(path, text).program)) {
    rest += text.slice(from, start) + text.slice(start, end).replace(/[^\n]/g, '')
    from = end
  }
  return rest + text.slice(from)
}

function hasWideLine(path: string): boolean {
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  const isExempt = (line: string): boolean =>
    LET_THROUGH.some((pattern, at) => (at > 0 || isTest(path)) && pattern.test(line))
  const wide = lines.flatMap((line, at) => (isWide(line) && !isExempt(line) ? [at] : []))
  if (wide.length === 0 || !/\.(?:ts|tsx|mjs)$/.test(path)) return wide.length > 0
  const left = withoutLiterals(path, lines.join('\n')).split('\n')
  return wide.some(at => isWide(left[at] ?? ''))
}

test(`no line is wider than ${MAX_COLUMNS} columns`, () => {
  expect(
    ['agent', 'tooling', 'tune', 'dev', 'examples', 'benchmarks']
      .flatMap(listPaths)
      .filter(isChecked)
      .filter(hasWideLine),
  ).toEqual([])
})

test('only what stands outside of literals counts', () => {
  const long = 'x'.repeat(MAX_COLUMNS)
  const shown = (text: string): string => withoutLiterals('a.ts', text)
  expect(shown(`const a = '${long}'`)).toBe('const a = ')
  expect(shown(`const a = \`${long}\n\${b}\``)).toBe('const a = \nb')
  expect(isWide(shown(`const ${long} = 1`))).toBe(true)
})

/**
 * No line of code, including strings and comments, is wider than 110 columns. Lines that cannot be broken are
 * exempt: a test title, which docs/promises.md quotes, a regular expression, and the path of a drawing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const MAX_COLUMNS = 110

const isChecked = (path: string): boolean =>
  /\.(?:ts|tsx|mjs|css|cc|cpp|h|hpp|cu|cuh)$/.test(path) && !path.includes('/generated/')

const LET_THROUGH = [
  /** The title of a test, of a table of tests, or of a row of one. */
  /^\s*(?:\]\)\(|(?:test|it|describe)\b[^'"`]*\()?\s*(['"`]).*\1(?:,|\)|:)[^'"`]*$/,
  /^\s*\/.*\/[a-z]*[,;.)]*(?:test\($)?$/,
  /<path d="/,
]
const isTest = (path: string): boolean => /\.test\.tsx?$|\/(?:test|e2e)\//.test(path)

const wide = ['agent', 'tooling', 'tune', 'dev', 'examples', 'benchmarks']
  .flatMap(listPaths)
  .filter(isChecked)
  .filter(path =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .some(
        line =>
          line.length > MAX_COLUMNS &&
          !LET_THROUGH.some((pattern, at) => (at > 0 || isTest(path)) && pattern.test(line)),
      ),
  )

test(`no line is wider than ${MAX_COLUMNS} columns`, () => {
  expect(wide).toEqual([])
})

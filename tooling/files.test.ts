/** Rules for sizes and style that apply to every source file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const maxLines = 600

// Flat tables, which are more readable in one file.
const longTables = new Set(['agent/protocol/test/pins.test.ts'])

const isCode = (path: string) => /\.(ts|tsx|mjs)$/.test(path)
const isTest = (path: string) => /\.test\.tsx?$/.test(path)
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const code = ['agent', 'tune', 'dev', 'examples', 'tooling'].flatMap(listPaths).filter(isCode)
const sources = code.filter(path => /^(?:agent|tune)\/[^/]+\/src\//.test(path) && !isTest(path))

// Blanks strings and removes comments, so that prose about a rule does not break it.
const stripProse = (text: string) =>
  text.replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''").replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')

const filesMatching = (paths: string[], pattern: RegExp) =>
  paths.filter(path => pattern.test(stripProse(read(path))))

test(`no file except tables is longer than ${maxLines} lines`, () => {
  const long = code.map(path => [path, read(path).split('\n').length] as const)
  expect(long.filter(([path, lines]) => lines > maxLines && !longTables.has(path))).toEqual([])
})

test('no test is skipped or run alone', () => {
  expect(
    filesMatching(code.filter(isTest), /\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo)\b/),
  ).toEqual([])
})

test('no source file uses the type any', () => {
  expect(filesMatching(sources, /:\s*any\b|\bas\s+any\b|<any>/)).toEqual([])
})

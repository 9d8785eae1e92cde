/**
 * Prose in documents is wrapped at 110 columns, as code is, so that a changed word changes one line. Tables,
 * headings, code blocks and text without a space to break at are exempt.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const MAX_COLUMNS = 110

/** Pages that `npm run gen` writes. */
const GENERATED = [
  'commands',
  'configuration',
  'events',
  'http-api',
  'promises',
  'tune/ops',
  'tune/config',
  'tune/recipes',
  'tune/parameters',
].map(name => `docs/${name}.md`)

/** Code and links are not broken: their spaces do not count. */
const solid = (line: string): string =>
  line.replaceAll(/`[^`]*`|!?\[[^\]]*\]\([^)]*\)/g, text => text.replaceAll(' ', '_'))

/** Whether the line is too wide and has a space where it could be broken. */
const isTooWide = (line: string): boolean =>
  line.length > MAX_COLUMNS &&
  solid(line)
    .slice(0, MAX_COLUMNS)
    .replace(/^\s*(?:[-*]|\d+\.)?\s*/, '')
    .includes(' ')

function wideLines(text: string): number[] {
  let isCode = false
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*```/.test(line)) isCode = !isCode
    return isCode || /^\s*[|#<]/.test(line) || !isTooWide(line) ? [] : [index + 1]
  })
}

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...listPaths('docs').filter(path => path.endsWith('.md')),
].filter(path => !GENERATED.includes(path))
const wide = pages.flatMap(path => {
  const lines = wideLines(readFileSync(join(root, path), 'utf8'))
  return lines.length === 0 ? [] : [{ path, lines }]
})

test(`prose is wrapped at ${MAX_COLUMNS} columns`, () => {
  expect(pages.length).toBeGreaterThan(50)
  expect(wide).toEqual([])
})

test('reports a line that is too wide, and accepts one that cannot be broken', () => {
  const long = 'word '.repeat(30)
  expect(wideLines(`${long}\n| ${long}|\n# ${long}\n\`\`\`\n${long}\n\`\`\`\n- ${long}`)).toEqual([1, 7])
  expect(wideLines(`- \`${long}\``)).toEqual([])
})

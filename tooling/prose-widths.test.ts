/**
 * Prose in documents is wrapped at 110 columns, as code is: a change of a word is then a change of a line.
 * Tables, headings, code blocks and what has no blank to break at are let through.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const MAX_COLUMNS = 110

/** Pages that are written by `npm run gen`. */
const GENERATED = ['events', 'promises', 'tune/ops', 'tune/config', 'tune/recipes', 'tune/parameters'].map(
  name => `docs/${name}.md`,
)

/** Code and links are not broken: their blanks do not count. */
const solid = (line: string): string =>
  line.replaceAll(/`[^`]*`|!?\[[^\]]*\]\([^)]*\)/g, text => text.replaceAll(' ', '_'))

/** Wide, and has a blank where it could have been broken. */
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

test('what is too wide is seen, and what cannot be broken is let through', () => {
  const long = 'word '.repeat(30)
  expect(wideLines(`${long}\n| ${long}|\n# ${long}\n\`\`\`\n${long}\n\`\`\`\n- ${long}`)).toEqual([1, 7])
  expect(wideLines(`- \`${long}\``)).toEqual([])
})

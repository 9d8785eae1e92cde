/**
 * The README and the pages under docs/ lead somewhere: every relative link names a file that is there, and
 * every family of the table has its page.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './workspace.ts'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md'))
    .map(file => join('docs', file)),
]
/** Code may hold brackets that are no links. */
const prose = (file: string): string =>
  readFileSync(join(root, file), 'utf8')
    .replaceAll(/```.*?```/gs, '')
    .replaceAll(/`[^`\n]*`/g, '')
const linksOf = (text: string): string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) =>
    target === undefined || /^(?:[a-z]+:|#)/.test(target) ? [] : [target.replace(/#.*$/, '')],
  )

test.each(pages)('every link of %s names a file that is there', page => {
  expect(linksOf(prose(page)).filter(target => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

test('every family in the README has its page in docs/', () => {
  const table =
    prose('README.md')
      .split('## What a session can do')[1]
      ?.split('\n')
      .filter(line => /^\| (?!\|)/.test(line)) ?? []
  expect(table.length).toBeGreaterThan(8)
  expect(table.filter(row => !linksOf(row).some(target => target.startsWith('docs/')))).toEqual([])
})

/**
 * The README and the pages under docs/ refer only to existing links, repository files, npm scripts and
 * commands, and every family of the event table has its page.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { devCommands } from '../dev/commands.mjs'
import { listPaths, root } from './workspace.ts'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'dev/README.md',
  'examples/README.md',
  'deploy/container/README.md',
  ...listPaths('docs').filter(path => path.endsWith('.md')),
]
/** Code may contain brackets that are not links. */
const prose = (file: string): string =>
  readFileSync(join(root, file), 'utf8')
    .replaceAll(/```.*?```/gs, '')
    .replaceAll(/`[^`\n]*`/g, '')
const linksOf = (text: string): string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) =>
    target === undefined || /^(?:[a-z]+:|#)/.test(target) ? [] : [target.replace(/#.*$/, '')],
  )

test.each(pages)('every link of %s refers to an existing file', page => {
  expect(linksOf(prose(page)).filter(target => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].flatMap(([, found]) => found ?? [])

const SCRIPTS = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts)
/** The first word of each command; `cairn-tune` has commands of two words. */
const namesIn = (folder: string): string[] =>
  [...listPaths(folder), ...listPaths('tooling/cli')]
    .filter(path => path.endsWith('.ts'))
    .flatMap(path => matches(read(path), /^ +name: '([a-z-]+)/gm))
const COMMANDS: Record<string, readonly string[]> = {
  cairn: namesIn('agent/app/src/cli'),
  'cairn-tune': namesIn('tune/cli/src'),
}

test.each(pages)('every npm script that %s names exists', page => {
  expect(
    matches(read(page), /npm run (?:--silent |-s )?([\w:-]+)/g).filter(name => !SCRIPTS.includes(name)),
  ).toEqual([])
})

test.each(pages)('every program of dev/ that %s names exists', page => {
  const programs = Object.keys(devCommands({}))
  const named = matches(read(page), /npm run dev -- ([\w:-]+)/g).filter(name => name !== 'NAME')
  expect(named.filter(name => !programs.includes(name))).toEqual([])
})

test.each(pages)('every repository file that %s names exists', page => {
  const named = matches(
    read(page).replaceAll(/\]\([^)\s]+\)/g, ']'),
    /(?<![\w./-])((?:agent|tune|dev|examples|docs|tooling|benchmarks|\.ci)\/[\w./-]*[\w/-])/g,
  )
  expect(named.filter(path => !existsSync(join(root, path)))).toEqual([])
})

test.each(pages)('every command that %s names exists', page => {
  const wrong = [...read(page).matchAll(/(?:npx |`)(cairn(?:-tune)?) ([a-z][a-z-]*)/g)].filter(
    ([, program = '', command = '']) => !COMMANDS[program]?.includes(command),
  )
  expect(wrong.map(([text]) => text)).toEqual([])
})

/** The sections of docs/README.md that list the pages of a kind. */
const SECTIONS: Record<string, readonly string[]> = {
  Tutorial: ['Start'],
  'How-to': ['Guides', 'Operations'],
  Reference: ['Reference', 'Promises and decisions'],
  Explanation: ['Promises and decisions'],
}

/** The line below a page's title, or below the marker of generated pages, that names its kind. */
const kindOf = (page: string): string | undefined => /^\*(\S+)\. For /m.exec(read(page))?.[1]

const indexed = read('docs/README.md')
  .split(/^## /m)
  .slice(1)
  .flatMap(section => {
    const [title = ''] = section.split('\n')
    return linksOf(section).map(link => ({ page: join('docs', link), section: title }))
  })

test('the index lists every page once, in the section of its kind', () => {
  const listed = indexed.filter(({ page }) => /^docs\/.*\.md$/.test(page))
  const wanted = pages.filter(page => /^docs\/(?!decisions\/|README)/.test(page))
  expect(listed.map(({ page }) => page).toSorted()).toEqual(wanted.toSorted())
  const wrong = listed.filter(({ page, section }) => SECTIONS[kindOf(page) ?? '']?.includes(section) !== true)
  expect(wrong.map(({ page, section }) => `${page}: ${kindOf(page)}, listed under ${section}`)).toEqual([])
})

test('the README fits on two screens', () => {
  expect(read('README.md').split('\n').length).toBeLessThan(130)
})

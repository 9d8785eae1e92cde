/**
 * The field's words. What only we would understand stands in no document that people read first, and in no
 * exported name: a lease is a lease, a writer a writer, what a socket lacks is space.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPackages, listPaths, readSourcesOf, root } from './workspace.ts'

/** Each with the words to say instead. */
const PRIVATE: Record<string, string> = {
  pen: 'writer',
  pens: 'writers',
  door: 'guard, commit',
  doors: 'guards, ways in',
  house: 'product',
  houses: 'products',
  street: 'path',
  room: 'space, package, scratch, back-pressure',
  rooms: 'packages, scratch',
  hurry: 'prefill first',
  newcomer: 'new request, new reader',
  newcomers: 'new requests, new readers',
  prod: 'nudge, retry',
  untold: 'not notified',
  lying: 'in place, interleaved',
  skinny: 'the layout of the weights',
  few_rows: 'the layout of the weights',
  'taking turns': 'mutex',
}

const word = new RegExp(`(?<![\\w-])(?:${Object.keys(PRIVATE).join('|')})(?![\\w-])`, 'gi')
const documents = ['README.md', 'CONTRIBUTING.md', ...listPaths('docs').filter(path => path.endsWith('.md'))]

/** Code and what tests are called is quoted; it is not said. */
const prose = (text: string): string => text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')

const said = documents.flatMap(path => [
  ...new Set(
    [...prose(readFileSync(join(root, path), 'utf8')).matchAll(word)].map(
      ([found]) => `${path}: ${found.toLowerCase()}`,
    ),
  ),
])

/** camelCase, PascalCase and SNAKE_CASE as words. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[ _]+/)

const exported = (['agent', 'tune'] as const).flatMap(product =>
  listPackages(product)
    .flatMap(pkg => readSourcesOf(product, pkg))
    .filter(({ isTest }) => !isTest)
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:async )?(?:const|function|type|class|interface) (\w+)/gm)]
        .filter(([, name = '']) => wordsOf(name).some(part => Object.hasOwn(PRIVATE, part)))
        .map(([, name]) => `${path}#${name}`),
    ),
)

test('documents say the usual word', () => {
  expect(said).toEqual([])
})

test('exported names are made of usual words', () => {
  expect(exported).toEqual([])
})

import { expect, test } from 'vitest'
import { PAGE, flattenJson } from '../src/events/json-tree.ts'

const none = new Set<string>()
const shown = (value: unknown, flipped: ReadonlySet<string> = none) =>
  flattenJson(value, flipped).map(line => `${'  '.repeat(line.depth)}${line.name ?? '$'} ${line.text}`)

test('the root and its children are open, deeper branches closed', () => {
  expect(shown({ a: 1, b: { c: { d: true } }, e: [] })).toEqual([
    '$ {3}',
    '  a 1',
    '  b {1}',
    '    c {1}',
    '  e []',
  ])
})

test('toggling a branch changes only its own state', () => {
  expect(shown({ a: { x: 1 }, b: { y: 2 } }, new Set(['$/a']))).toEqual([
    '$ {2}',
    '  a {1}',
    '  b {1}',
    '    y 2',
  ])
  expect(shown({ b: { c: { d: null } } }, new Set(['$/b/c']))).toEqual([
    '$ {1}',
    '  b {1}',
    '    c {1}',
    '      d null',
  ])
})

test('text that contains JSON can be opened as a tree; other text is text', () => {
  const value = { content: '{"rows": [1]}', note: '{ not json' }
  expect(shown(value)).toEqual(['$ {2}', '  content JSON text {1}', '  note { not json'])
  expect(shown(value, new Set(['$/content']))).toEqual([
    '$ {2}',
    '  content JSON text {1}',
    '    rows [1]',
    '  note { not json',
  ])
})

test('a long list shows its first page and the number of further entries', () => {
  const value = { list: Array.from({ length: PAGE + 5 }, (_, i) => i) }
  const open = new Set(['$/list'])
  const lines = flattenJson(value, open)
  expect(lines).toHaveLength(2 + PAGE + 1)
  expect(lines.at(-1)).toMatchObject({ kind: 'more', text: '5 more' })
  expect(flattenJson(value, new Set([...open, lines.at(-1)?.path ?? '']))).toHaveLength(2 + PAGE + 5)
})

test('keys with a slash or a tilde have distinct paths', () => {
  const paths = flattenJson({ 'a/b': 1, a: { b: 2 }, 'a~b': 3 }, none).map(line => line.path)
  expect(new Set(paths).size).toBe(paths.length)
})

test('a value that is not an object is a tree of one line', () => {
  expect(shown('plain')).toEqual(['$ plain'])
  expect(shown(null)).toEqual(['$ null'])
})

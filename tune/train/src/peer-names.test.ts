/** docs/tune/coming-from.md agrees with the names that readConfig accepts and refuses. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONFIG_KEYS } from './config.ts'
import { ALIASES, UNSUPPORTED_KEYS } from './peer-names.ts'

const sections = readFileSync(new URL('../../../docs/tune/coming-from.md', import.meta.url), 'utf8').split(
  '\n## ',
)
const rowsOf = (section: string | undefined): string[][] =>
  (section ?? '')
    .split('\n')
    .filter(line => line.startsWith('| `') || /^\| [A-Z]/.test(line))
    .map(line => line.split('|').slice(1, -1))
const namesIn = (cell = ''): string[] => [...cell.matchAll(/`([a-z]\w*)[^`]*`/g)].map(([, name = '']) => name)

test('every name of the table is accepted as the key of its row', () => {
  const rows = rowsOf(sections[0]).slice(1)
  expect(rows.length).toBeGreaterThan(30)
  const wrong = rows.flatMap(([ours, ...theirs]) =>
    theirs.flatMap(namesIn).filter(name => !namesIn(ours).includes(ALIASES[name] ?? name)),
  )
  expect(wrong).toEqual([])
  expect(rows.flatMap(([ours]) => namesIn(ours)).filter(key => !CONFIG_KEYS.includes(key))).toEqual([])
})

test('every other key that the page names is refused with a reason', () => {
  const [replaced] = (sections[1] ?? '').split('| program |')
  const named = [...rowsOf(replaced).map(([theirs]) => theirs), ...rowsOf(sections[2]).map(row => row[1])]
  const keys = named.flatMap(namesIn)
  expect(keys.length).toBeGreaterThan(25)
  expect(keys.filter(key => !Object.hasOwn(UNSUPPORTED_KEYS, key))).toEqual([])
})

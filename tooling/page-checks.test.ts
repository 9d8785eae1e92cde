/** docs/page-checks.md names, for each fault from 1 to 28, existing tests and the mutants that they caught. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readMutants } from './mutants/mutants.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAULTS = 28

type Named = { number: number; path: string; title: string | null }

/** The tests in the last column: `path`, or `path`: title. Several are separated by semicolons. */
function namedTests(page: string): Named[] {
  return [...page.matchAll(/^\| (\d+) \|.*\| (.*) \|$/gm)].flatMap(([, number, cell = '']) =>
    [...cell.matchAll(/`([^`]+\.test\.ts)`(?:: (.*?))?(?=; `|$)/g)].map(([, path = '', title]) => ({
      number: Number(number),
      path,
      title: title ?? null,
    })),
  )
}

test('each fault of the review has a row, and each named test exists under its title', () => {
  const page = readFileSync(join(ROOT, 'docs/page-checks.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number))
  expect(rows).toEqual(Array.from({ length: FAULTS }, (_, at) => at + 1))
  const named = namedTests(page)
  expect(named.length).toBeGreaterThan(FAULTS)
  const missing = named.filter(({ path, title }) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return title !== null && !text.includes(title)
  })
  expect(missing).toEqual([])
})

test('the column of each fault has the mutants that its tests caught, as they are recorded', () => {
  const page = readFileSync(join(ROOT, 'docs/page-checks.md'), 'utf8')
  const record: { mutants: { name: string; caught_by: string | null }[] } = JSON.parse(
    readFileSync(join(ROOT, 'docs/data/mutants.json'), 'utf8'),
  )
  const caught = new Set(record.mutants.flatMap(({ name, caught_by }) => (caught_by === null ? [] : [name])))
  const expected = Array.from({ length: FAULTS }, (_, at) => {
    const prefix = `finding ${at + 1}: `
    const mutants = readMutants().filter(({ name }) => name.startsWith(prefix) && caught.has(name))
    return [at + 1, mutants.map(({ name }) => name.slice(prefix.length)).join('; ') || 'not seen yet']
  })
  const columns = [...page.matchAll(/^\| (\d+) \| [^|]* \| ([^|]*) \|/gm)].map(([, number, names]) => [
    Number(number),
    names,
  ])
  expect(columns).toEqual(expected)
  const tests = namedTests(page)
  const unnamed = readMutants().filter(({ name, tests: [path], title }) => {
    const number = Number(/^finding (\d+): /.exec(name)?.[1] ?? 0)
    return (
      number > 0 && !tests.some(each => each.number === number && each.path === path && each.title === title)
    )
  })
  expect(unnamed.map(({ name }) => name)).toEqual([])
})

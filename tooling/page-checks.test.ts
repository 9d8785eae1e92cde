/** docs/page-checks.md names tests that exist, for every fault from 1 to 28. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

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

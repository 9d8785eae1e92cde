/**
 * Promises are comments above the tests that prove them, and docs/promises.md is generated from them. This
 * gate checks their form and position, and that each test named in docs/security.md exists.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { composePage, promisesIn, readPromises } from './promises.ts'
import { root } from './workspace.ts'

type Proof = { promise: string; file: string; name: string }

/**
 * Rows have the form `| promise | clause | file: test name |`, after `before` further columns. A case of the
 * log's conformance suite counts as a proof too: both stores run it.
 */
function readProofs(page: string, before = 0): Proof[] {
  return page.split('\n').flatMap(line => {
    const [promise, , proof] = line
      .split('|')
      .slice(1 + before)
      .map(cell => cell.trim())
    const [, file, name] =
      /^`([^`]+(?:\.test\.tsx?|\/conformance\/[a-z-]+\.ts))`: (.+)$/.exec(proof ?? '') ?? []
    return promise && file && name ? [{ promise, file, name }] : []
  })
}

const page = readFileSync(join(root, 'docs/promises.md'), 'utf8')
const threats = readFileSync(join(root, 'docs/security.md'), 'utf8')
/** Rows have the form `| part | what was attacked | what holds now | file: test name |`. */
const attacks = readProofs(threats, 1)

test('every row of the page names a proof', () => {
  const rows = page.split('\n').filter(line => line.startsWith('| ') && !/^\| *(-|promise)/i.test(line))
  expect(readProofs(page).length).toBe(rows.length)
  expect(rows.length).toBeGreaterThan(20)
})

test('each promise is above a test and occurs once', () => {
  expect(readPromises().errors).toEqual([])
})

test('the threat model names a test for each of its ten parts', () => {
  const rows = threats.split('\n').filter(line => readProofs(line, 1).length > 0)
  const parts = new Set(rows.map(row => row.split('|')[1]?.trim()))
  parts.delete('–')
  expect([...parts]).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 1}`))
})

test.each(attacks)('$promise: $name', ({ file, name }) => {
  expect(existsSync(join(root, file)), `${file} does not exist`).toBe(true)
  // Apostrophes may be escaped in the source of a test title.
  expect(readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'")).toContain(name)
})

const SOURCE = `import { describe, expect, test } from 'vitest'

/** Promise 2.10: Ids grow. */
test('ids grow', () => {})

/**
 * Explains the table.
 *
 * Promise 2.2, T7: A promise that is too long
 * for one line.
 * Promise 1: Another.
 */
test.each([[1]])('it\\'s %i', () => {})

describe(\`with \${name}\`, () => {
  /** Promise 2.2: Works on templates | tables. */
  // A comment between.
  it.each\`a\`(\`costs \${PRICE}\`, () => {})
})
`

test('the parser finds each promise with its clauses, file and test', () => {
  const file = 'x.test.ts'
  expect(promisesIn({ path: file, text: SOURCE })).toEqual({
    promises: [
      { text: 'Ids grow.', clauses: ['2.10'], file, title: 'ids grow' },
      { text: 'A promise that is too long for one line.', clauses: ['2.2', 'T7'], file, title: "it's %i" },
      { text: 'Another.', clauses: ['1'], file, title: "it's %i" },
      { text: 'Works on templates | tables.', clauses: ['2.2'], file, title: 'costs ${PRICE}' },
    ],
    errors: [],
  })
})

test.each([
  ['/** Promise 2.2: Lost. */\nconst x = 1', 'x.ts: "Lost." is not above a test'],
  ['/** Promise 2.2: Lost. */\nrun("title", () => {})', 'x.ts: "Lost." is not above a test'],
  ['/** Promise 2.2: Lost. */', 'x.ts: "Lost." is not above a test'],
  ['// Promise 2.2: Lost.\ntest("title", () => {})', 'x.ts: "Lost." is not in /** … */'],
  [
    '/** Promise 2.2 has no colon. */\ntest("title", () => {})',
    'x.ts: "Promise 2.2 has no colon." is not "Promise <clause>: <text>"',
  ],
])('the parser reports %j', (text, error) => {
  expect(promisesIn({ path: 'x.ts', text })).toEqual({ promises: [], errors: [error] })
})

test('the page has a table for each section, ordered by clause', () => {
  const { promises } = promisesIn({ path: 'x.test.ts', text: SOURCE })
  const contract = '# Agent\n\n## 1. First\n\n## 2. Second\n\n## 3. Third\n'
  expect(composePage(promises, contract).split('\n').slice(8)).toEqual([
    '## 1. First',
    '',
    '| promise | clause | test |',
    '|---|---|---|',
    "| Another. | 1 | `x.test.ts`: it's %i |",
    '',
    '## 2. Second',
    '',
    '| promise | clause | test |',
    '|---|---|---|',
    "| A promise that is too long for one line. | 2.2, T7 | `x.test.ts`: it's %i |",
    String.raw`| Works on templates \| tables. | 2.2 | ${'`x.test.ts`: costs ${PRICE}'} |`,
    '| Ids grow. | 2.10 | `x.test.ts`: ids grow |',
    '',
  ])
})

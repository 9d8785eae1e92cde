/**
 * docs/promises.md names a test for every promise; this gate looks each of them up, so that a promise cannot
 * outlive its proof.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './workspace.ts'

type Proof = { promise: string; file: string; name: string }

/**
 * Rows read `| promise | clause | file: test name |`; `before` so many columns stand in front of them. A case
 * of the log's conformance suite is a proof too: both stores run it.
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
/** Rows read `| part | what was attacked | what holds now | file: test name |`. */
const attacks = readProofs(threats, 1)
const proofs = readProofs(page)

test('every row of the page names a proof', () => {
  const rows = page.split('\n').filter(line => line.startsWith('| ') && !/^\| *(-|promise)/i.test(line))
  expect(proofs.length).toBe(rows.length)
  expect(rows.length).toBeGreaterThan(20)
})

test('the threat model names a test for each of its ten parts', () => {
  const rows = threats.split('\n').filter(line => readProofs(line, 1).length > 0)
  const parts = new Set(rows.map(row => row.split('|')[1]?.trim()))
  parts.delete('–')
  expect([...parts]).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 1}`))
})

test.each([...proofs, ...attacks])('$promise: $name', ({ file, name }) => {
  expect(existsSync(join(root, file)), `${file} does not exist`).toBe(true)
  // Apostrophes may be escaped in the source of a test's name.
  expect(readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'")).toContain(name)
})

/**
 * Code and tests cite docs/contract.md by clause ("contract 7.3", "Promise 7.3: …"). This gate checks that
 * each cited clause exists, and rejects citations of documents that are not in the repository.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPromises } from './promises.ts'
import { listPaths, root } from './workspace.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Sections ("## 7.", "## T7.") and clauses ("- 7.3 ", "- T7.3 ") of the contract. */
function readClauses(page: string): Set<string> {
  const sections = [...page.matchAll(/^## (T?\d+)\./gm)].map(match => match[1] ?? '')
  const clauses = [...page.matchAll(/^- (T?\d+\.\d+) /gm)].map(match => match[1] ?? '')
  return new Set([...sections, ...clauses])
}

const contract = read('docs/contract.md')
const clauses = readClauses(contract)

const code = ['agent', 'tune', 'dev', 'examples', 'tooling']
  .flatMap(listPaths)
  .filter(path => /\.(ts|tsx|mjs|cc|cu|h|sql)$/.test(path) && path !== 'tooling/citations.test.ts')

const LIST = String.raw`(T?\d+(?:\.\d+)?(?:,(?:\s+(?:\*\s+|\/\/\s+)?)T?\d+(?:\.\d+)?)*)`
const CITATION = new RegExp(String.raw`\bcontract(?:\s+(?:\*\s+|\/\/\s+)?)${LIST}`, 'gi')

/** "src/x.ts: 7.3" for each clause that a text cites. */
const citationsIn = (path: string): string[] =>
  [...read(path).matchAll(CITATION)].flatMap(match =>
    [...(match[1] ?? '').matchAll(/T?\d+(?:\.\d+)?/g)].map(([clause]) => `${path}: ${clause}`),
  )
const isKnown = (citation: string) => clauses.has(citation.slice(citation.lastIndexOf(' ') + 1))

test('the contract has every clause that code cites', () => {
  const citations = code.flatMap(citationsIn)
  expect(citations.length).toBeGreaterThan(100)
  expect(citations.filter(citation => !isKnown(citation))).toEqual([])
})

test('every promise cites a clause of the contract', () => {
  const citations = readPromises().promises.flatMap(({ clauses, file }) =>
    clauses.map(clause => `${file}: ${clause}`),
  )
  expect(citations.filter(citation => !isKnown(citation))).toEqual([])
})

test('every row of docs/promises.md cites a clause of the contract', () => {
  const cells = read('docs/promises.md')
    .split('\n')
    .filter(line => line.startsWith('| ') && !/^\| *promise/.test(line))
    .map(line => line.split('|')[2]?.trim() ?? '')
  const unknown = cells.filter(cell => cell.split(', ').some(clause => !clauses.has(clause)))
  expect(cells.length).toBeGreaterThan(100)
  expect(unknown).toEqual([])
})

test('no comment cites a design or specification outside the repository', () => {
  const elsewhere =
    /\b[Dd]esign\s+(?:\*\s+)?(?:sections?\s+)?\d|\* .*\(spec[,;)]|\b[Ss]pec, [A-Z][a-z]+ ?[a-z]*[),;]|docs\/spec\//
  expect(code.filter(path => elsewhere.test(read(path)))).toEqual([])
})

test('each clause number is used once', () => {
  const numbers = [...contract.matchAll(/^- (T?\d+\.\d+) /gm)].map(match => match[1])
  expect(numbers.length).toBe(new Set(numbers).size)
})

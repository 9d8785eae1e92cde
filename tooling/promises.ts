/**
 * The promises of Cairn stand above the tests that prove them: `Promise 14.5: A mission …`, each on a line of
 * its own in a JSDoc comment. This module reads them and composes docs/promises.md.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tableCell } from '@cairn/protocol/generate'
import { parseSync } from 'vite'
import { listPaths, root, type SourceFile } from './workspace.ts'

type TestPromise = { text: string; clauses: string[]; file: string; title: string }

type Source = Pick<SourceFile, 'path' | 'text'>
type Node = { type: string; start: number; end: number; [key: string]: unknown }
type PromiseComment = { promises: Pick<TestPromise, 'text' | 'clauses'>[]; malformed: string[] }

const CLAUSE = String.raw`T?\d+(?:\.\d+)?`
const ENTRY = new RegExp(String.raw`^Promise (${CLAUSE}(?:, ${CLAUSE})*): (\S.*)$`)
const ENTRY_START = /^Promises?:? T?\d/

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** `test`, `it` or `describe`, also in `test.each([…])` and `test.runIf(…)`. */
function isTestFunction(callee: unknown): boolean {
  if (!isNode(callee)) return false
  if (callee.type === 'Identifier') return /^(?:test|it|describe)$/.test(String(callee['name']))
  return isTestFunction(callee['object'] ?? callee['callee'] ?? callee['tag'])
}

/** The string as it is printed. A template keeps its `${…}`. */
function titleOf(call: Node, text: string): string | undefined {
  const [first] = call['arguments'] as unknown[]
  if (!isNode(first)) return undefined
  if (first.type === 'TemplateLiteral') return text.slice(first.start + 1, first.end - 1)
  return typeof first['value'] === 'string' ? first['value'] : undefined
}

/** The titles of the statements that define tests and groups of tests, by their positions in the text. */
function testTitles(program: unknown, text: string): Map<number, string> {
  const titles = new Map<number, string>()
  function visit(node: Node): void {
    const call = node['expression']
    if (node.type === 'ExpressionStatement' && isNode(call) && call.type === 'CallExpression') {
      const title = isTestFunction(call['callee']) ? titleOf(call, text) : undefined
      if (title !== undefined) titles.set(node.start, title)
    }
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
  }
  if (isNode(program)) visit(program)
  return titles
}

/** An entry ends at the next one, at a blank line and at the end of the comment. */
function readComment(comment: string): PromiseComment {
  const entries: string[] = []
  let isOpen = false
  for (const line of comment.split('\n').map(line => line.replace(/^\s*\*\s?/, '').trim())) {
    if (ENTRY_START.test(line)) entries.push(line)
    else if (isOpen && line !== '') entries.push(`${entries.pop()} ${line}`)
    isOpen = line !== '' && (isOpen || ENTRY_START.test(line))
  }
  const matches = entries.map(entry => ({ entry, match: ENTRY.exec(entry) }))
  return {
    promises: matches.flatMap(({ match }) =>
      match ? [{ clauses: match[1]?.split(', ') ?? [], text: match[2] ?? '' }] : [],
    ),
    malformed: matches.flatMap(({ entry, match }) => (match ? [] : [entry])),
  }
}

/** The promises of one file, in their order, and what is wrong with its comments. */
export function promisesIn({ path, text }: Source): { promises: TestPromise[]; errors: string[] } {
  if (!/\bPromises?:? T?\d/.test(text)) return { promises: [], errors: [] }
  const { program, comments, errors: syntax } = parseSync(path, text)
  if (syntax.length > 0) throw new Error(`${path}: ${syntax[0]?.message}`)
  const titles = testTitles(program, text)
  const promises: TestPromise[] = []
  const errors: string[] = []
  for (const comment of comments) {
    const found = readComment(comment.value)
    const entries = [...found.malformed, ...found.promises.map(promise => promise.text)]
    if (entries.length === 0) continue
    const title = titles.get(nextCode(comment.end))
    const where = `${path}: "${entries[0]}"`
    if (comment.type !== 'Block' || !comment.value.startsWith('*')) errors.push(`${where} is not in /** … */`)
    else if (title === undefined) errors.push(`${where} is not above a test`)
    else promises.push(...found.promises.map(promise => ({ ...promise, file: path, title })))
    errors.push(...found.malformed.map(entry => `${path}: "${entry}" is not "Promise <clause>: <text>"`))
  }
  return { promises, errors }

  function nextCode(from: number): number {
    const at = from + (/\S/.exec(text.slice(from))?.index ?? 0)
    const next = comments.find(({ start }) => start === at)
    return next ? nextCode(next.end) : at
  }
}

/** The promises of the repository, and what is wrong with them. */
export function readPromises(): { promises: TestPromise[]; errors: string[] } {
  const found = ['agent', 'tune', 'dev', 'tooling']
    .flatMap(listPaths)
    .filter(path => /\.tsx?$/.test(path))
    .map(path => promisesIn({ path, text: readFileSync(join(root, path), 'utf8') }))
  const promises = found.flatMap(({ promises }) => promises)
  return { promises, errors: [...found.flatMap(({ errors }) => errors), ...repeated(promises)] }
}

function repeated(promises: TestPromise[]): string[] {
  const seen = new Set<string>()
  return promises.flatMap(({ text, file }) => {
    const isRepeated = seen.has(text)
    seen.add(text)
    return isRepeated ? [`${file}: "${text}" is promised twice`] : []
  })
}

/** `T4.10` → `[2, 4, 10]`: the sections of Tune follow those of Agent, and a section precedes its clauses. */
function rank(clause = ''): number[] {
  const [section = 0, number = 0] = clause.replace('T', '').split('.').map(Number)
  return [clause.startsWith('T') ? 2 : 1, section, number]
}

function compareClauses(one: TestPromise, other: TestPromise): number {
  const ranks = rank(other.clauses[0])
  return (
    rank(one.clauses[0])
      .map((part, at) => part - (ranks[at] ?? 0))
      .find(difference => difference !== 0) ?? 0
  )
}

const row = ({ text, clauses, file, title }: TestPromise): string =>
  `| ${tableCell(text)} | ${clauses.join(', ')} | \`${file}\`: ${tableCell(title)} |`

/** The page: a table for each section of the contract that has promises. */
export function composePage(promises: TestPromise[], contract: string): string {
  const ordered = promises.toSorted(
    (one, other) => compareClauses(one, other) || (one.file < other.file ? -1 : +(one.file > other.file)),
  )
  const sections = [...contract.matchAll(/^## (T?\d+)\. .+$/gm)].flatMap(([heading, section]) => {
    const rows = ordered.filter(({ clauses }) => clauses[0]?.split('.')[0] === section).map(row)
    return rows.length === 0 ? [] : [[heading, '', '| promise | clause | test |', '|---|---|---|', ...rows]]
  })
  return `${[
    '# Promises',
    '*Reference. For users, operators and auditors who want to know what Cairn guarantees.*',
    '<!-- Generated by `npm run gen` from comments above tests (tooling/promises.ts). Do not edit. -->',
    'Each promise belongs to a clause of [the contract](contract.md) and is proved by the test beside it.',
    ...sections.map(lines => lines.join('\n')),
  ].join('\n\n')}\n`
}

/** docs/promises.md, for `npm run gen`. */
export function promisesPage(): string {
  const { promises, errors } = readPromises()
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return composePage(promises, readFileSync(join(root, 'docs/contract.md'), 'utf8'))
}

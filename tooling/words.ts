/**
 * Finds words that docs/glossary.md replaces, and phrases that read like a translation, in everything that
 * people read.
 */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseSync } from 'vite'
import { listPackages, listPaths, readSourcesOf, root } from './workspace.ts'

export const AREAS = ['documents', 'messages', 'names', 'files', 'comments', 'comment openings'] as const
export type Area = (typeof AREAS)[number]
export type Hit = { area: Area; path: string; line: number; word: string }

/** Words of no term in particular, with what to say instead. */
const DIALECT: Record<string, string> = {
  nobody: 'name the actor, or use the passive',
  somebody: 'name the actor',
  whoever: 'name the actor',
  told: 'notified, reported, sent, logged',
  tells: 'notifies, reports, returns',
  untold: 'not notified',
  'go on': 'continue, resume',
  'goes on': 'continues, resumes',
  'went on': 'continued, resumed',
  'gone on': 'continued, resumed',
  'going on': 'continuing',
  'takes up': 'resumes, claims',
  'taken up': 'resumed, claimed',
  anew: 'again',
  mended: 'fixed',
  dearest: 'highest cost',
  begun: 'started',
  'so many': 'at most, a limit',
  'so long': 'at most, a timeout',
  'is no': 'negate the verb',
  'are none': 'negate the verb',
  // Names that were used for parts of the code before.
  pen: 'writer',
  door: 'guard, commit',
  house: 'product',
  street: 'path',
  hurry: 'prefill first',
  newcomer: 'new request, new reader',
  skinny: 'the layout of the weights',
}

/** The last column of the glossary's tables. */
function replacedTerms(): string[] {
  const rows = readFileSync(join(root, 'docs/glossary.md'), 'utf8')
    .split('\n')
    .filter(line => /^\| (?!term|-)/.test(line))
  return rows
    .flatMap(row => (row.split('|')[3] ?? '').split(','))
    .map(word => word.trim())
    .filter(Boolean)
}

const TERMS = [...new Set([...replacedTerms(), ...Object.keys(DIALECT)])].toSorted(
  (a, b) => b.length - a.length,
)

/** Every use of an old word. Text boxes, mail servers and slots of a cache are the field's own words. */
export function oldWords(): RegExp {
  const standard = 'text|check|combo|list|mail|bounding|cache|KV|batch|adapter'
  const before = `(?<![\\w./-])(?<!\\b(?:${standard})[ -])`
  const after = '(?![\\w/-]|\\.[a-z]| (?:longer|more)\\b|[ -](?:server|servers|client|clients)\\b)'
  return new RegExp(`${before}(?:${TERMS.join('|')})(?:s|es)?${after}`, 'gi')
}

/** How a comment begins that leaves out its subject. */
export const OPENING =
  /^(?:(?:Of|Who|Those|Nobody|Somebody|Whoever|That of|One that|Which)\b|(?:As|So)\b(?! soon as| with| the | an? ))/

/** Code and quoted names are not prose. */
const prose = (text: string): string =>
  text
    .replaceAll(/```[\s\S]*?```/g, quoted => quoted.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/`[^`]*`/g, quoted => quoted.replaceAll(/[^\n]/g, ' '))

/** camelCase, PascalCase and SNAKE_CASE as words. */
const spaced = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase()

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

const hitsIn = (area: Area, path: string, text: string, firstLine = 1): Hit[] =>
  [...prose(text).matchAll(oldWords())].map(match => ({
    area,
    path,
    line: firstLine + lineOf(text, match.index) - 1,
    word: match[0],
  }))

/** String literals and pieces of templates, with the offset of each. */
function literalsOf(node: unknown, into: { value: string; start: number }[]): void {
  if (Array.isArray(node)) return node.forEach(each => literalsOf(each, into))
  if (node === null || typeof node !== 'object') return
  const { type, value, start } = node as { type?: string; value?: unknown; start?: number }
  if (type === 'ImportDeclaration' || type === 'ExportAllDeclaration') return
  if (type === 'Literal' && typeof value === 'string') into.push({ value, start: start ?? 0 })
  else if (type === 'JSXText' && typeof value === 'string') into.push({ value, start: start ?? 0 })
  else if (type === 'TemplateElement')
    into.push({ value: (value as { cooked?: string }).cooked ?? '', start: start ?? 0 })
  for (const child of Object.values(node)) if (typeof child === 'object') literalsOf(child, into)
}

function hitsInSource(path: string, text: string): Hit[] {
  const { program, comments } = parseSync(path, text)
  const literals: { value: string; start: number }[] = []
  literalsOf(program.body, literals)
  const messages = literals
    .filter(({ value }) => /\S \S/.test(value))
    .flatMap(({ value, start }) => hitsIn('messages', path, value, lineOf(text, start)))
  const named = [...text.matchAll(/^export (?:async )?(?:const|function|type|class|interface) (\w+)/gm)]
  const names = named.flatMap(({ 1: name = '', index }) =>
    hitsIn('names', path, spaced(name), lineOf(text, index)),
  )
  // Lines that follow each other are one comment.
  const blocks: { value: string; start: number; end: number }[] = []
  for (const { type, value, start, end } of comments) {
    const last = blocks.at(-1)
    if (type === 'Line' && last && /^\n\s*$/.test(text.slice(last.end, start))) {
      last.value += `\n${value}`
      last.end = end
    } else blocks.push({ value, start, end })
  }
  const remarks = blocks.flatMap(({ value, start }) => {
    const words = value.replaceAll(/^\s*\*+ ?/gm, '').trim()
    const opening = OPENING.exec(words)
    const line = lineOf(text, start)
    return [
      ...hitsIn('comments', path, value, line),
      ...(opening ? [{ area: 'comment openings' as const, path, line, word: words.slice(0, 40) }] : []),
    ]
  })
  return [...messages, ...names, ...remarks]
}

export function findWords(): Hit[] {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    ...listPaths('docs').filter(path => path.endsWith('.md')),
  ]
    .filter(path => path !== 'docs/glossary.md')
    .flatMap(path => hitsIn('documents', path, readFileSync(join(root, path), 'utf8')))
  const sources = (['agent', 'tune', 'dev'] as const)
    .flatMap(product => listPackages(product).flatMap(pkg => readSourcesOf(product, pkg)))
    .filter(({ isTest }) => !isTest)
  const files = sources.flatMap(({ path }) =>
    hitsIn('files', path, spaced(basename(path).replace(/\..*/, ''))),
  )
  return [...documents, ...files, ...sources.flatMap(({ path, text }) => hitsInSource(path, text))]
}

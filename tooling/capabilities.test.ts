/**
 * The turn receives its capabilities as a table and imports none by name. A capability imports only types of
 * the turn. So a new capability is a folder and a row, without changes to the turn or to another capability's
 * wiring.
 */
import { expect, test } from 'vitest'
import { readImports, readSources, resolveRelative, type SourceFile } from './workspace.ts'

const HARNESS = 'agent/harness/src/'
const CAPABILITIES = [
  'advisor',
  'announcements',
  'commands',
  'compaction',
  'coordination',
  'experts',
  'goals',
  'missions',
  'research',
  'review',
  'saga',
  'skills',
]
const folderOf = (path: string): string => path.slice(HARNESS.length).split('/')[0] ?? ''
const isCapability = (path: string): boolean =>
  CAPABILITIES.includes(folderOf(path)) || /^(?:titles|capabilities)\.ts$/.test(path.slice(HARNESS.length))

const sources = readSources('harness').filter(file => !file.isTest)

type Arrow = { from: string; to: string; isType: boolean }
const arrowsOf = (file: SourceFile): Arrow[] =>
  readImports(file)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, isType }) => ({ from: file.path, to: resolveRelative(file.path, specifier), isType }))
const arrows = sources.flatMap(arrowsOf)

test('every capability folder exists', () => {
  const folders = new Set(sources.map(file => folderOf(file.path)))
  expect(CAPABILITIES.filter(name => !folders.has(name))).toEqual([])
})

test('the turn imports no capability', () => {
  expect(arrows.filter(({ from, to }) => folderOf(from) === 'turn' && isCapability(to))).toEqual([])
})

test('the runner around the turn imports no capability either, only the table', () => {
  const table = `${HARNESS}capabilities.ts`
  const face = `${HARNESS}index.ts`
  expect(
    arrows.filter(({ from, to }) => from !== face && !isCapability(from) && isCapability(to) && to !== table),
  ).toEqual([])
})

test('a capability imports only types of the turn', () => {
  expect(
    arrows.filter(({ from, to, isType }) => isCapability(from) && folderOf(to) === 'turn' && !isType),
  ).toEqual([])
})

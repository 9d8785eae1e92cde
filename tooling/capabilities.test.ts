/**
 * The turn receives its capabilities as a table and imports none by name. A capability imports only types of
 * the turn. So a new capability is a folder and a row, without changes to the turn or to another capability's
 * wiring.
 */
import { expect, test } from 'vitest'
import { readImports, readSources, resolveRelative, type SourceFile } from './workspace.ts'

const HARNESS = 'agent/harness/src/'
const FOLDER = `${HARNESS}capabilities/`
const TABLE = `${FOLDER}index.ts`
/** What the service passes to a runner, whose types the runner therefore names. */
const PARTS_OF_A_RUNNER = [`${FOLDER}code/coding.ts`, `${FOLDER}mcp/servers.ts`]

const isOfTurn = (path: string): boolean => path.startsWith(`${HARNESS}turn/`)
const isCapability = (path: string): boolean => path.startsWith(FOLDER)

const sources = readSources('harness').filter(file => !file.isTest)

type Arrow = { from: string; to: string; isType: boolean }
const arrowsOf = (file: SourceFile): Arrow[] =>
  readImports(file)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, isType }) => ({ from: file.path, to: resolveRelative(file.path, specifier), isType }))
const arrows = sources.flatMap(arrowsOf)

test('every folder with a capability has a row in the table', () => {
  const folders = sources
    .map(({ path }) => path)
    .filter(path => path.endsWith('/capability.ts') && isCapability(path))
  const rows = arrows.filter(({ from }) => from === TABLE).map(({ to }) => to)
  expect(folders.length).toBeGreaterThan(15)
  expect(folders.filter(path => !rows.includes(path))).toEqual([])
})

test('the turn imports no capability', () => {
  expect(arrows.filter(({ from, to }) => isOfTurn(from) && isCapability(to))).toEqual([])
})

test('the runner around the turn imports no capability either, only the table', () => {
  const face = `${HARNESS}index.ts`
  expect(
    arrows.filter(
      ({ from, to, isType }) =>
        from !== face &&
        !isCapability(from) &&
        isCapability(to) &&
        to !== TABLE &&
        !(isType && PARTS_OF_A_RUNNER.includes(to)),
    ),
  ).toEqual([])
})

test('a capability imports only types of the turn', () => {
  expect(arrows.filter(({ from, to, isType }) => isCapability(from) && isOfTurn(to) && !isType)).toEqual([])
})

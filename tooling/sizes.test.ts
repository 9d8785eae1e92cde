/**
 * Maximum lengths of source files and functions. A longer one is listed below with the reason why it is
 * clearest in one piece. An entry that is no longer too long fails the test.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { functionsOf } from './functions.ts'
import { listPaths, root } from './workspace.ts'

const MAX_FILE_LINES = 300
const MAX_FUNCTION_LINES = 80

/** Flat tables and lists, which are clearest in one piece. */
const longTables: Record<string, string> = {
  'agent/log/src/engine/redact/secret-prefixes.ts': 'the list of prefixes of known secrets',
  'tune/models/src/families.ts': 'the table of model families',
  'tune/ops/src/ops.ts': 'the table of ops',
  'tune/train/src/config.ts': 'the table of settings',
  'tune/train/src/problems/four-steps.ts': 'the templates of problems of four steps',
}

/** `path#function`, with the reason why the function is clearest in one piece. */
const longFunctions: Record<string, string> = {
  'agent/log/src/sqlite/reader.ts#createReader': 'a list of queries, a method each',
  'agent/log/src/postgres/reader.ts#createReader': 'a list of queries, a method each',
  'agent/log/src/resources/accounts/sqlite.ts#accountWrites': 'a list of queries, a method each',
  'agent/log/src/resources/accounts/postgres.ts#createAccounts': 'a list of queries, a method each',
  'agent/web/src/home/home-composer.tsx#HomeComposer':
    'one form; passing its state to parts takes more bytes than the first load has left',
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const sources = ['agent', 'tune', 'dev']
  .flatMap(listPaths)
  .filter(path => /^(?:agent|tune|dev)\/[^/]+\/src\/.*\.tsx?$/.test(path) && !/\.test\.tsx?$/.test(path))

const longFiles = sources.filter(path => read(path).trimEnd().split('\n').length > MAX_FILE_LINES)
const tooLong = sources
  .filter(path => path.startsWith('agent/'))
  .flatMap(path =>
    functionsOf(path, read(path))
      .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
      .map(({ name }) => `${path}#${name}`),
  )

describe.each([
  ['file', MAX_FILE_LINES, longFiles, longTables],
  ['function of agent/', MAX_FUNCTION_LINES, tooLong, longFunctions],
] as const)('a source %s has at most %i lines', (_what, _most, long, reasons) => {
  test('lists a reason for each longer one', () => {
    expect(long.filter(name => !Object.hasOwn(reasons, name))).toEqual([])
  })

  test('lists no reason for a short one', () => {
    expect(Object.keys(reasons).filter(name => !long.includes(name))).toEqual([])
  })
})

test('finds functions by name', () => {
  const text = `export function declared() {\n}
const arrow = () => 1
const table = { method() {\n\n}, row: function () {} }`
  expect(functionsOf('x.ts', text)).toEqual([
    { name: 'declared', lines: 2 },
    { name: 'arrow', lines: 1 },
    { name: 'method', lines: 3 },
    { name: 'row', lines: 1 },
  ])
})

/**
 * No line of code, strings and comments included, is wider than 110 columns. What cannot be broken is let
 * through: the name of a test, which docs/promises.md quotes, a pattern, the path of a drawing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const MAX_COLUMNS = 110

const isChecked = (path: string): boolean =>
  /\.(?:ts|tsx|mjs|css|cc|cpp|h|hpp|cu|cuh)$/.test(path) && !path.includes('/generated/')

const LET_THROUGH = [
  /** The name of a test, of a table of tests, or of a row of one. */
  /^\s*(?:\]\)\(|(?:test|it|describe)\b[^'"`]*\()?\s*(['"`]).*\1(?:,|\)|:)[^'"`]*$/,
  /^\s*\/.*\/[a-z]*[,;.)]*(?:test\($)?$/,
  /<path d="/,
]
const isTest = (path: string): boolean => /\.test\.tsx?$|\/(?:test|e2e)\//.test(path)

/** Homework: files that still have such lines. A file that has none any more leaves the list. */
const agentToDo: string[] = [
  'agent/api/test/logins.test.ts',
  'agent/app/e2e/events-keys.test.ts',
  'agent/app/e2e/security/artifact-frame.test.ts',
  'agent/app/src/bench/table.ts',
  'agent/app/src/cli/help.ts',
  'agent/app/src/cli/send.ts',
  'agent/app/src/cli/serve.ts',
  'agent/app/src/cli/terminal-text.ts',
  'agent/harness/src/canonical-json.test.ts',
  'agent/harness/src/compaction/summary-message.ts',
  'agent/harness/src/llm/scripted-match.ts',
  'agent/harness/src/sandbox/choose.ts',
  'agent/harness/src/tools/search-worker.ts',
  'agent/harness/src/tools/workspace-mask.ts',
  'agent/harness/test/security/box.test.ts',
  'agent/harness/test/security/hostile-model-server.ts',
  'agent/log/src/redact.test.ts',
  'agent/log/src/redact/in-context.ts',
  'agent/log/src/redact/prefixed-tokens.ts',
  'agent/log/src/sqlite-adapter.ts',
  'agent/protocol/src/events.ts',
  'agent/protocol/src/visible-text.ts',
  'agent/sessions/src/refusals.ts',
  'tooling/fold-version.test.ts',
]

/** As above, of Tune. */
const tuneToDo: string[] = []

const wide = ['agent', 'tooling', 'tune', 'benchmarks']
  .flatMap(listPaths)
  .filter(isChecked)
  .filter(path =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .some(
        line =>
          line.length > MAX_COLUMNS &&
          !LET_THROUGH.some((pattern, at) => (at > 0 || isTest(path)) && pattern.test(line)),
      ),
  )
const todo = [...agentToDo, ...tuneToDo]

test(`no line is wider than ${MAX_COLUMNS} columns`, () => {
  expect(wide.filter(path => !todo.includes(path))).toEqual([])
})

test('a file that is narrow is not on the list of those to do', () => {
  expect(todo.filter(path => !wide.includes(path))).toEqual([])
})

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const program = fileURLToPath(new URL('count-tests.mjs', import.meta.url))
type Case = { status: string; fullName: string; failureMessages?: string[] }
const file = (name: string, assertionResults: Case[], more: { status?: string; message?: string } = {}) => ({
  name: join(process.cwd(), name),
  status: 'passed',
  assertionResults,
  ...more,
})

function count(...reports: string[]): { lines: string[]; code: number | null } {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-count-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const paths = reports.map((report, at) => {
    const path = join(dir, `${at}.json`)
    writeFileSync(path, report)
    return path
  })
  const { stdout, status } = spawnSync(process.execPath, [program, ...paths], { encoding: 'utf8' })
  return { lines: stdout.trimEnd().split('\n'), code: status }
}
const counted = (...testResults: object[]) => count(JSON.stringify({ testResults }))

test('reports a test that passed on retry as flaky with its first failure, and counts it as passed', () => {
  const { lines, code } = counted(
    file('a.test.ts', [
      {
        status: 'passed',
        fullName: 'comes and goes',
        failureMessages: ['Error: late\n    at a.test.ts:1:1\n'],
      },
      { status: 'passed', fullName: 'is steady', failureMessages: [] },
    ]),
  )
  expect(lines).toEqual([
    'flaky: a.test.ts > comes and goes',
    '    Error: late',
    expect.stringMatching(/^1 flaky: /),
    '2 passed, 0 failed, 0 skipped',
  ])
  expect(code).toBe(0)
})

test('names failed tests and files that do not load before the count, and fails the run', () => {
  const { lines, code } = counted(
    file(
      'a.test.ts',
      [
        { status: 'failed', fullName: 'is wrong', failureMessages: ['Error: first', 'Error: last'] },
        { status: 'pending', fullName: 'waits' },
      ],
      { status: 'failed' },
    ),
    file('b.test.ts', [], { status: 'failed', message: 'no such module' }),
  )
  expect(lines).toEqual([
    'failed: a.test.ts > is wrong',
    '    Error: last',
    'failed: b.test.ts',
    '    no such module',
    '0 passed, 2 failed, 1 skipped',
  ])
  expect(code).toBe(1)
})

test.each([
  ['', 'an empty report'],
  ['{"testResults":[]}', 'a report without a test'],
])('a run fails with %j, %s', report => {
  expect(count(report)).toEqual({ lines: ['0 passed, 0 failed, 0 skipped'], code: 1 })
})

test('counts several reports together, and an empty one fails the run', () => {
  const one = JSON.stringify({ testResults: [file('a.test.ts', [{ status: 'passed', fullName: 'works' }])] })
  expect(count(one, one)).toEqual({ lines: ['2 passed, 0 failed, 0 skipped'], code: 0 })
  expect(count(one, '')).toEqual({ lines: ['1 passed, 0 failed, 0 skipped'], code: 1 })
})

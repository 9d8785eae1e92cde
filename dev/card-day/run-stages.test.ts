/** The stages of a card day: time limits, what is left out, and the size of what is kept. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { REPORT, RESULTS, runStages, type Stage, type StageOutcome } from './run-stages.ts'
import { stagesOf } from './stages.ts'

let output: string
beforeEach(() => {
  output = mkdtempSync(join(tmpdir(), 'cairn-stages-'))
})
afterEach(() => rmSync(output, { recursive: true }))

const node = (code: string) => [process.execPath, '-e', code]
const stage = (name: string, command: Stage['command'], more: Partial<Stage> = {}): Stage => ({
  name,
  about: `about ${name}`,
  command,
  seconds: 60,
  minSeconds: 1,
  ...more,
})
const run = (stages: readonly Stage[], seconds = 60, now?: () => number) =>
  runStages(stages, { output, seconds, log: () => undefined, ...(now && { now }) })
const statuses = (outcomes: readonly StageOutcome[]) =>
  outcomes.map(({ stage: name, status, reason = '' }) => [name, status, reason])

test('what each stage printed is kept, and a failed one does not stop the next', async () => {
  const outcomes = await run([
    stage('first', node('console.log("one")')),
    stage('second', node('console.error("two"); process.exit(3)')),
    stage('third', ['/nowhere/program']),
    stage('fourth', 'it is not possible here'),
    stage('fifth', node('')),
  ])
  expect(statuses(outcomes)).toEqual([
    ['first', 'passed', ''],
    ['second', 'failed', 'exit code 3; see second.log'],
    ['third', 'failed', expect.stringContaining('cannot start /nowhere/program')],
    ['fourth', 'left out', 'it is not possible here'],
    ['fifth', 'passed', ''],
  ])
  expect(readFileSync(join(output, 'first.log'), 'utf8')).toBe('one\n')
  expect(readFileSync(join(output, 'second.log'), 'utf8')).toBe('two\n')
  const lines = readFileSync(join(output, RESULTS), 'utf8').trim().split('\n')
  expect(lines.map(line => JSON.parse(line) as unknown)).toEqual(outcomes)
  expect(readFileSync(join(output, REPORT), 'utf8')).toContain('Left out or cut: fourth.')
})

test('after a required stage that failed, the rest is left out', async () => {
  const outcomes = await run([
    stage('judge', node('process.exit(1)'), { isRequired: true }),
    stage('speed', node('')),
  ])
  expect(statuses(outcomes)).toEqual([
    ['judge', 'failed', 'exit code 1; see judge.log'],
    ['speed', 'left out', 'judge failed'],
  ])
})

test('a stage that exceeds its limit is stopped with its children, and its output kept', async () => {
  const forever = 'setInterval(() => undefined, 1000)'
  const outcomes = await run([
    stage(
      'long',
      node(
        `const child = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(forever)}]);` +
          `console.log(child.pid); ${forever}`,
      ),
      { seconds: 1 },
    ),
    stage('short', node('')),
  ])
  expect(statuses(outcomes)).toEqual([
    ['long', 'out of time', 'stopped after 1 s'],
    ['short', 'passed', ''],
  ])
  const child = Number(readFileSync(join(output, 'long.log'), 'utf8'))
  expect(child).toBeGreaterThan(0)
  await expect.poll(() => isAlive(child)).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a stage that needs more time than is left is left out', async () => {
  let clock = 0
  const outcomes = await run(
    [stage('first', node('')), stage('second', node(''), { minSeconds: 20 }), stage('third', node(''))],
    30,
    () => (clock += 5000),
  )
  expect(outcomes[1]).toMatchObject({
    status: 'left out',
    reason: expect.stringMatching(/^\d+ s left, 20 s needed$/),
  })
})

test('the beginning and the end of a long output are kept', async () => {
  await run([stage('long', node('console.log("start"); console.log("x".repeat(1e6)); console.log("end")'))])
  const path = join(output, 'long.log')
  expect(statSync(path).size).toBeLessThan(140_000)
  expect(readFileSync(path, 'utf8')).toMatch(/^start\nx+\n… \d+ bytes left out …\nx+\nend\n$/)
})

test('on an emulated card nothing is timed, and the judges run', () => {
  const place = { root: '/root', node: 'node', output, work: '/work', cards: 1, python: 'python3' }
  const [emulated, real] = [true, false].map(isEmulated => stagesOf({ ...place, isEmulated }))
  const timed = emulated?.filter(({ command }) => typeof command === 'string').map(({ name }) => name)
  expect(timed).toEqual(expect.arrayContaining(['step-qwen3-8b', 'pytorch-qwen3-0.6b', 'sft']))
  expect(
    emulated?.filter(({ isRequired }) => isRequired).every(({ command }) => Array.isArray(command)),
  ).toBe(true)
  expect(real?.filter(({ command }) => typeof command === 'string').map(({ name }) => name)).toEqual([
    'sft-ranks',
  ])
  // The most important stages fit a call of nine minutes even if each takes all of its time.
  const first = real?.slice(0, 6).reduce((sum, { seconds }) => sum + seconds, 0)
  expect(first).toBeLessThanOrEqual(540)
})

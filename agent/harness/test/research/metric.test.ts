/** Research in mode metric: branches change files, and a real command in a real sandbox measures them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { viewResearch } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { readMeasured } from '../../src/capabilities/research/measure.ts'
import { terminalTool } from '../../src/tools/terminal.ts'
import { finishWork, goal, wait } from '../coordination/tree-stage.ts'
import { expectSound, grading, untilMission, verdict } from '../missions/mission-stage.ts'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { setStage, type Stage } from '../turn/stage.ts'
import { branchCall, defineResearch, HARVESTED, report, writeFiles } from './research-stage.ts'

const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } })
const adopt = (key: string) => ({ tool_calls: [{ name: 'research_adopt', arguments: { key } }] })
/** Writes to stderr, leaves a file behind, and prints numbers that are not the score. */
const COMMAND = 'echo "99 problems" >&2; touch junk-12; echo "as of v4.5:"; cat value.txt'

const resultsOf = async (stage: Stage, name: string): Promise<Record<string, unknown>[]> =>
  (await stage.events()).flatMap(event =>
    event.type === 'tool.result' && event.data.name === name
      ? [JSON.parse(event.data.content) as Record<string, unknown>]
      : [],
  )

/** Promise 14.5: In mode metric, a real command scores each branch in a temporary copy of the workspace. */
test('a real command measures branches, and only an improvement can be adopted', async () => {
  await using stage = await setStage({
    tools: [terminalTool({ sandbox: await sandboxed() })],
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        {
          when: goal('Raise'),
          steps: [
            { tool_calls: [write('value.txt', '12.5\n'), write('new/why.md', 'raised')] },
            finishWork('Now 99.'),
          ],
        },
        {
          when: goal('Lower'),
          steps: [{ tool_calls: [write('value.txt', '7')] }, finishWork('Best of all: 1000.')],
        },
        {
          when: goal('Break'),
          steps: [{ tool_calls: [write('value.txt', 'none')] }, finishWork('It is 50.')],
        },
        { when: goal('Try again'), answer: finishWork('I changed nothing.') },
        {
          when: { user: '^\\[Findings[^]*Try again' },
          steps: [adopt('4'), report('The value is 12.5 now, by branch 1.')],
        },
        {
          when: HARVESTED,
          steps: [
            adopt('2'),
            adopt('1'),
            adopt('1'),
            adopt('9'),
            { tool_calls: [branchCall({ question: 'Try again', parent_key: '1' }), wait] },
          ],
        },
        {
          answer: {
            tool_calls: [
              branchCall({ question: 'Raise it' }, { question: 'Lower it' }, { question: 'Break it' }),
              wait,
            ],
          },
        },
      ],
    },
  })
  writeFiles(stage, { 'value.txt': '10\n' })
  await defineResearch(stage, {
    mode: 'metric',
    metric: { command: COMMAND, direction: 'max', timeout_s: 60 },
  })
  stage.start()
  const mission = await untilMission(stage, 'satisfied')
  await expectSound(stage)
  const { run, branches } = await viewResearch(stage.store, mission)
  // The score of a branch is not what it claims.
  expect(branches.map(({ key, score, why }) => [key, score, why])).toEqual([
    ['1', 12.5, 'measured'],
    ['1.1', 12.5, 'measured'],
    ['2', 7, 'measured'],
    ['3', null, 'the command printed no number'],
  ])
  expect(run).toMatchObject({ best_score: 12.5, mode: 'metric' })
  const adopted = await resultsOf(stage, 'research_adopt')
  expect(adopted).toMatchObject([
    {
      adopted: false,
      key: '2',
      score_before: 10,
      score_after: 7,
      reason: '7 is not greater than 10: nothing was changed',
    },
    { adopted: true, key: '1', score_before: 10, score_after: 12.5, applied: ['new/why.md', 'value.txt'] },
    { adopted: false, key: '1', reason: 'your files already contain all its changes' },
    { error: expect.stringContaining('no harvested branch "9"; harvested: 1, 2, 3') },
    { error: expect.stringContaining('no harvested branch "4"') },
  ])
  expect(branches[0]?.adopted_at).not.toBeNull()
  const here = join(stage.dir, 'workspaces', stage.session_id)
  expect(readFileSync(join(here, 'value.txt'), 'utf8')).toBe('12.5\n')
  // The next branch started from there, and no run of the command left files anywhere.
  const second = branches[1]?.worker_id ?? ''
  expect(readFileSync(join(stage.dir, 'workspaces', second, 'value.txt'), 'utf8')).toBe('12.5\n')
  for (const folder of [stage.session_id, ...branches.map(({ worker_id }) => worker_id)])
    expect(existsSync(join(stage.dir, 'workspaces', folder, 'junk-12'))).toBe(false)
  expect(readdirSync(join(stage.dir, 'workspaces')).filter(name => name.includes('.'))).toEqual([])
})

test.each<[what: string, output: string, score: number | null]>([
  ['the last of several', '1\n2\nscore: 3.25\n', 3.25],
  ['a negative one', 'loss -0.5', -0.5],
  ['one with an exponent', 'lr 1e-3', 0.001],
  ['a percentage', 'accuracy 97%', 97],
  ['no part of a word', 'score 4 by v2 of gpt-5x', 4],
  ['none', 'all is well', null],
])("reads the score from the command's output: %s", (_, output, score) => {
  expect(readMeasured({ exit_code: 0, output }).score).toBe(score)
})

test('a command that fails has no score, whatever it printed', () => {
  expect(readMeasured({ exit_code: 1, output: '5' })).toEqual({
    score: null,
    why: 'the command ended with exit code 1',
  })
  expect(readMeasured({ error: 'timed out after 1 s', exit_code: null, output: '5' }).score).toBeNull()
})

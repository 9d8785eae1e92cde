/** A mission from its definition to its last verdict. */
import { AppError, type EventOf } from '@cairn/protocol'
import { defineMission, defineOutcomes, resumeMission, viewMission } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { finishWork, goal, task } from '../coordination/tree-stage.ts'
import { alice, say, setStage, typesOf } from '../turn/stage.ts'
import {
  define,
  expectSound,
  grading,
  missionRow,
  twoRounds,
  untilMission,
  verdict,
} from './mission-stage.ts'

/** Promise 14.5: A mission runs in rounds until its evaluator is satisfied. */
test('a mission runs two rounds with workers, with one revision, and is then satisfied', async () => {
  await using stage = await setStage({
    scenario: twoRounds([verdict('needs_revision', 'There is no report.'), verdict('satisfied')]),
  })
  const { mission_id } = await define(stage)
  stage.start()
  const mission = await untilMission(stage, 'satisfied')
  const logs = await expectSound(stage)
  const log = logs.get(stage.session_id) ?? []
  expect(typesOf(log).filter(type => /^(mission|worker|turn|session)\.|^iteration/.test(type))).toEqual([
    'mission.defined',
    'worker.spawned',
    'worker.spawned',
    'worker.complete',
    'worker.complete',
    'iteration.summary',
    'iteration.summary',
    'mission.evaluation.start',
    'mission.evaluation.end',
    'turn.summary',
    'mission.continuation',
    'worker.spawned',
    'worker.complete',
    'iteration.summary',
    'iteration.summary',
    'mission.evaluation.start',
    'mission.evaluation.end',
    'turn.summary',
    'session.complete',
  ])
  const messages = log.flatMap(event => (event.type === 'user.message' ? [event.data] : []))
  expect(messages.map(({ synthetic }) => synthetic)).toEqual(['mission_kickoff', 'mission_continuation'])
  expect(messages[1]?.content).toContain('There is no report.')
  const ends = log.filter(
    (event): event is EventOf<'mission.evaluation.end'> => event.type === 'mission.evaluation.end',
  )
  expect(ends.map(({ data }) => [data.iteration, data.trigger, data.result])).toEqual([
    [1, 'round_end', 'needs_revision'],
    [2, 'round_end', 'satisfied'],
  ])
  expect(mission).toMatchObject({
    mission_id,
    status: 'satisfied',
    iteration: 2,
    state: { last_evaluation: { result: 'satisfied', explanation: 'because' } },
  })
  expect(mission.ended_at).not.toBeNull()
  // The usage of the workers and of the verdicts counts.
  const used = log.reduce(
    (sum, { data }) =>
      'input_tokens' in data && !('recap' in data)
        ? sum + Number(data.input_tokens) + Number(data.output_tokens)
        : sum,
    0,
  )
  expect(mission.state.spent?.tokens).toBe(used)
  expect(logs.size).toBe(4)
})

/** Promise 14.5: The evaluator of a mission sees tasks and files, not only claims. */
test('the evaluator sees the tasks, the files that the answer names, and which of those are missing', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        {
          steps: [
            {
              tool_calls: [
                { name: 'write_file', arguments: { path: 'out/report.md', content: 'Three, all told.' } },
              ],
            },
            say('It is in out/report.md and in out/table.csv.'),
          ],
        },
      ],
    },
  })
  await define(stage)
  stage.start()
  await untilMission(stage, 'satisfied')
  const asked = stage.server.requests.at(-1)
  const shown = JSON.stringify(asked?.body)
  expect(shown).toContain('File out/report.md:\\nThree, all told.')
  expect(shown).toContain("File out/table.csv: file 'out/table.csv' not found in the workspace")
  expect(shown).not.toContain('"tools"')
})

test("three unreadable verdicts pause the mission, without the event of an operator's pause", async () => {
  await using stage = await setStage({ scenario: twoRounds([say('hm'), say('well'), say('perhaps')]) })
  await define(stage)
  stage.start()
  const mission = await untilMission(stage, 'paused')
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(typesOf(log)).not.toContain('mission.paused')
  expect(mission.iteration).toBe(3)
})

test('three rounds without a tool call block the mission', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([1, 2, 3, 4].map(n => verdict('needs_revision', `missing ${n}`))),
        { answer: say('I have thought about it.') },
      ],
    },
  })
  await define(stage)
  stage.start()
  const mission = await untilMission(stage, 'blocked')
  expect(mission.state.last_evaluation?.explanation).toContain('3 rounds in a row called no tool')
  await expectSound(stage)
})

test('a mission ends after its maximum of rounds', async () => {
  await using stage = await setStage({
    scenario: twoRounds([verdict('needs_revision', 'more'), verdict('needs_revision', 'more still')]),
  })
  await define(stage, { max_iterations: 2 })
  stage.start()
  expect((await untilMission(stage, 'max_iterations_reached')).iteration).toBe(2)
  await expectSound(stage)
})

/** Promise 14.5: A session has at most one active mission or goal, and a worker has none. */
test('a session has at most one mission or goal', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('Yes.') }] } })
  await define(stage)
  const second = define(stage).catch((error: unknown) => error)
  expect(await second).toBeInstanceOf(AppError)
  expect(await second).toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('has a mission that is active'),
  })
  const rubric = { type: 'text', content: 'r' } as const
  await expect(
    defineOutcomes(stage.deps, stage.session_id, [{ description: 'a goal', rubric }]),
  ).rejects.toMatchObject({ code: 'wrong_state', message: expect.stringContaining('has a mission') })

  await using other = await setStage({ scenario: { rules: [{ answer: say('Yes.') }] } })
  await defineOutcomes(other.deps, other.session_id, [{ description: 'a goal', rubric }])
  await expect(define(other)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('/goal clear'),
  })
  await expect(defineMission(stage.deps, 'nobody', { description: 'd', rubric: 'r' })).rejects.toMatchObject({
    code: 'not_found',
  })
  expect((await missionRow(stage)).status).toBe('active')
})

/** Promise 14.5: The agent answers a message that arrives while a round is graded. */
test('a message during grading is answered, although the verdict ends the mission', async () => {
  const gate = Promise.withResolvers<undefined>()
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: { user: '^and the table' }, answer: say('It is in table.csv.') },
        { answer: say('Done.') },
      ],
    },
    hold: nth => (nth === 2 ? gate.promise : undefined),
  })
  await define(stage)
  stage.start()
  await stage.server.requested(2)
  await stage.send('and the table?')
  gate.resolve(undefined)
  await untilMission(stage, 'satisfied')
  const events = await stage.until(log => log.at(-1)?.type === 'session.complete')
  expect(events.findLast(event => event.type === 'llm.response')?.data.message.content).toBe(
    'It is in table.csv.',
  )
  expect(events.at(-1)?.data).toMatchObject({ reason: 'completed' })
  expect((await missionRow(stage)).iteration).toBe(1)
  await expectSound(stage)
})

test('the evaluator gets what fits its window and no tasks of an earlier mission, which keeps its verdicts', async () => {
  const long = { path: 'long.md', content: 'word '.repeat(3000) }
  await using stage = await setStage({
    config: { models: { catalog: { 'demo/small': { context_window: 8000 } } } },
    agent: { missions: { evaluator_model: 'demo/small' } },
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: goal('dig'), answer: finishWork('There is water.') },
        { when: { user: '^\\[(Worker|Task)' }, answer: say('Dug.') },
        {
          when: { user: 'The second mission' },
          steps: [{ tool_calls: [{ name: 'write_file', arguments: long }] }, say('See long.md.')],
        },
        { steps: [{ tool_calls: [task('one', 'dig a well')] }, say('It is begun.')] },
      ],
    },
  })
  const evaluated = () => JSON.stringify(stage.server.requests.at(-1)?.body)
  const first = await define(stage)
  stage.start()
  await untilMission(stage, 'satisfied')
  expect(evaluated()).toContain('There is water.')
  await define(stage, { description: 'The second mission' })
  await untilMission(stage, 'satisfied')
  expect(evaluated()).toContain('File long.md:')
  expect(evaluated()).not.toContain('dig a well')
  expect(evaluated().length).toBeLessThan(12_000)
  const row = await stage.store.missions.get(first.mission_id)
  expect((await viewMission(stage.store, row!, Date.now())).verdicts).toMatchObject([
    { iteration: 1, result: 'satisfied', trigger: 'round_end', parse_failed: false },
  ])
  await expectSound(stage)
})

test('a mission that is blocked in its last round cannot be resumed', async () => {
  await using stage = await setStage({ scenario: twoRounds([verdict('blocked')]) })
  await define(stage, { max_iterations: 1 })
  stage.start()
  const mission = await untilMission(stage, 'blocked')
  await expect(resumeMission(stage.deps, mission, alice)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('all 1 rounds were graded'),
  })
  await stage.send('/mission resume')
  const reply = await stage.next('llm.response', 3)
  expect(reply.data.message.content).toContain('all 1 rounds were graded')
})

/** Budgets of missions, over the whole session tree. */
import type { EventOf } from '@cairn/protocol'
import { archiveSession, cancelMission, fireTimer, viewMission } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { finishWork, goal, OUTCOME, spawn, wait } from '../coordination/tree-stage.ts'
import { alice, call, say, setStage, type Stage, typesOf } from '../turn/stage.ts'
import { define, expectSound, grading, missionRow, untilMission, verdict } from './mission-stage.ts'

const used = (tokens: number) => ({ usage: { input_tokens: tokens, output_tokens: 0 } })
const verdicts = async (stage: Stage) =>
  (await stage.events()).filter(
    (event): event is EventOf<'mission.evaluation.end'> => event.type === 'mission.evaluation.end',
  )

/** Promise 14.5: A mission has one budget for its whole session tree. */
test('coordinator and workers share one token budget, and when it is used up the round fails ungraded', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: goal('dig'), answer: { ...finishWork('There is a well.'), ...used(25_000) } },
        { when: OUTCOME, answer: { ...say('Dug.'), ...used(100) } },
        { answer: { tool_calls: [spawn('dig a well'), wait], ...used(20_000) } },
      ],
    },
  })
  await define(stage, { budget: { max_tokens: 40_000 } })
  stage.start()
  const mission = await untilMission(stage, 'failed')
  expect(mission.state.last_evaluation?.explanation).toBe(
    'The token budget of the mission is used up: 45000 of 40000.',
  )
  const [end] = await verdicts(stage)
  expect(end?.data).toMatchObject({ trigger: 'budget', result: 'failed', iteration: 1 })
  // One request of the worker, one of the coordinator, and no other.
  expect(stage.server.requests).toHaveLength(2)
  const spawned = (await stage.events()).find(event => event.type === 'worker.spawned')
  expect(spawned?.data).toMatchObject({ budget: { max_tokens: 2500 } })
  const logs = await expectSound(stage)
  expect(typesOf(logs.get(stage.session_id) ?? []).at(-1)).toBe('session.complete')
})

test('at 90% of the budget the coordinator has one call without tools, and its answer is graded', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: { tools_disabled: true }, answer: { ...say('So far.'), ...used(10) } },
        { answer: { tool_calls: [{ name: 'look', arguments: { value: 'a' } }], ...used(9500) } },
      ],
    },
  })
  await define(stage, { budget: { max_tokens: 10_000 } })
  stage.start()
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
})

test('the share reserved for running workers does not stop the coordinator from answering its user', async () => {
  const gate = Promise.withResolvers<undefined>()
  await using stage = await setStage({
    agent: { workers: { max_open: 2 } },
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: goal('dig'), answer: finishWork('There is a well.') },
        { when: { user: '^how is it' }, answer: say('It goes well.') },
        { when: OUTCOME, answer: say('Dug.') },
        { answer: { tool_calls: [spawn('dig here'), spawn('dig there'), wait] } },
      ],
    },
    // Both workers, for whom all that is left is reserved.
    hold: nth => (nth === 2 || nth === 3 ? gate.promise : undefined),
  })
  await define(stage, { budget: { max_tokens: 40_000 } })
  stage.start()
  await stage.server.requested(3)
  await stage.send('how is it going?')
  const asked = await stage.next('llm.request', 2)
  expect(asked.data.tools_disabled ?? false).toBe(false)
  expect((await stage.next('llm.response', 2)).data.message.content).toBe('It goes well.')
  gate.resolve(undefined)
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
})

test('the sums of a mission contain the cost of verdicts, in tokens and USD', async () => {
  await using stage = await setStage({
    config: { models: { catalog: { 'demo/model': { input: 1, output: 1 } } } },
    scenario: {
      rules: [
        ...grading([{ ...verdict('satisfied'), ...used(20_000) }]),
        { answer: { ...say('Done.'), ...used(10_000) } },
      ],
    },
  })
  await define(stage, { budget: { max_cost_usd: 1 } })
  stage.start()
  expect((await untilMission(stage, 'satisfied')).state.spent).toEqual({ tokens: 30_000, cost_usd: 0.03 })
  await expectSound(stage)
})

test('the sums of a mission contain the usage of workers that a cancel ended', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: goal('dig'), steps: [{ ...call('look', 'down'), ...used(3000) }, { hang: true }] },
        { answer: { tool_calls: [spawn('dig a well'), wait], ...used(100) } },
      ],
    },
  })
  const mission = await define(stage)
  stage.start()
  await stage.server.requested(3)
  await cancelMission(stage.deps, mission, alice, { reason: null, cascade_to_workers: true })
  const { spent } = await viewMission(stage.store, await missionRow(stage), Date.now())
  expect(spent.tokens).toBe(3100)
  await archiveSession(stage.deps, await stage.session())
})

test('a mission fails when the budget of its session is used up', async () => {
  await using stage = await setStage({
    session: { budget: { max_tokens: 10_000 } },
    scenario: {
      rules: [
        ...grading([{ ...verdict('needs_revision', 'more'), ...used(9500) }]),
        { answer: { ...say('Done.'), ...used(1000) } },
      ],
    },
  })
  await define(stage)
  stage.start()
  const mission = await untilMission(stage, 'failed')
  expect(mission.state.last_evaluation?.explanation).toBe('The budget of the session is used up.')
  expect((await verdicts(stage)).map(({ data }) => [data.trigger, data.result])).toEqual([
    ['round_end', 'needs_revision'],
    ['budget', 'failed'],
  ])
  await expectSound(stage)
})

/**
 * Promise 14.5: When a mission's time limit expires, its workers are stopped and the evaluator grades the
 * existing work.
 */
test('when the time is up the workers are stopped, and the evaluator grades the existing work', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('needs_revision', 'no well')]),
        { when: goal('dig'), answer: { hang: true } },
        { answer: { tool_calls: [spawn('dig a well'), wait] } },
      ],
    },
  })
  // The test uses the real clock: the time is up at once, and the worker hangs by then.
  const mission = await define(stage, { budget: { max_minutes: 0.02 } })
  stage.start()
  const over = await untilMission(stage, 'failed')
  expect(over.state.last_evaluation?.explanation).toMatch(
    /^The time budget of the mission is used up: 0.02 minutes\. /,
  )
  expect((await verdicts(stage))[0]?.data).toMatchObject({ trigger: 'deadline', result: 'failed' })
  const told = (await stage.events()).flatMap(({ type, data }) =>
    type === 'worker.failed' ? [data.cause] : type === 'user.message' ? [data.synthetic] : [],
  )
  // The worker's time, the rest of the mission's, is up in the same moment.
  expect(told).toEqual([
    'mission_kickoff',
    expect.stringMatching(/^(?:parent|deadline)$/),
    'mission_deadline',
  ])
  await expectSound(stage)
  // The timer of an ended mission has no effect.
  const before = await stage.events()
  const [timer] = await stage.store.timers.claim('test', 10, 1000)
  if (timer !== undefined) await fireTimer(stage.deps, timer)
  expect(await stage.events()).toEqual(before)
  expect(mission.session_id).toBe(stage.session_id)
})

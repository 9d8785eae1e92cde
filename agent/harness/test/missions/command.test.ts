/** `/mission`: how it is parsed, the server's replies, and their effects. */
import { pauseSession, resumeSession } from '@cairn/sessions'
import { type MissionCommand, parseSlashCommand } from '@cairn/state'
import { expect, test } from 'vitest'
import { goal, spawn, wait } from '../coordination/tree-stage.ts'
import { say, setStage, type Stage, typesOf } from '../turn/stage.ts'
import { define, expectSound, grading, missionRow, untilMission, verdict } from './mission-stage.ts'

const parse = (text: string): MissionCommand => parseSlashCommand(text, () => false) as MissionCommand
const replies = async (stage: Stage, many: number): Promise<string[]> => {
  const events = await stage.until(
    log =>
      log.filter(({ data }) => 'finish_reason' in data && data.finish_reason === 'command').length >= many,
  )
  return events.flatMap(event =>
    event.type === 'llm.response' && event.data.finish_reason === 'command'
      ? [event.data.message.content]
      : [],
  )
}

test('parses text, rubric and budget in any order of lines, and reports what it cannot read', () => {
  expect(parse('/mission Count them\nBudget: 500k tokens | $5 | 2h\nRubric: there is\na report')).toEqual({
    command: 'mission',
    action: 'define',
    description: 'Count them',
    rubric: 'there is\na report',
    budget: { max_tokens: 500_000, max_cost_usd: 5, max_minutes: 120 },
    unread: [],
  })
  expect(parse('/mission Count them\nbudget: 1.5m tokens, 30 min, plenty')).toMatchObject({
    rubric: null,
    budget: { max_tokens: 1_500_000, max_minutes: 30 },
    unread: ['plenty'],
  })
  expect(parse('/mission')).toMatchObject({ action: 'status' })
  expect(parse('/mission pause  for lunch')).toMatchObject({ action: 'pause', text: 'for lunch' })
  expect(parse('/mission cancel --keep-workers enough')).toMatchObject({
    action: 'cancel',
    text: 'enough',
    cascade_to_workers: false,
  })
  expect(parse('/mission cancel')).toMatchObject({ text: null, cascade_to_workers: true })
  // A text that begins with an action is that action; another word is a mission.
  expect(parse('/mission pauses are good')).toMatchObject({ action: 'define' })
  expect(parseSlashCommand('/missionary work', () => false)).toBeNull()
})

test('reports an amount that no budget can have like an unreadable one', () => {
  expect(
    parse('/mission Count them\nBudget: 0.4 tokens | 400 d | 99999999999999999 tokens | 2h'),
  ).toMatchObject({
    budget: { max_minutes: 120 },
    unread: ['0.4 tokens', '400 d', '99999999999999999 tokens'],
  })
})

/** Promise 14.5: The `/mission` command starts, pauses, resumes and cancels a mission. */
test('commands start, show, pause, resume and cancel a mission, with its worker', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: goal('dig'), answer: { hang: true } },
        { answer: { tool_calls: [spawn('dig a well'), wait] } },
      ],
    },
  })
  stage.start()
  await stage.send('/mission Dig a well\nRubric: there is water\nBudget: plenty')
  expect((await replies(stage, 1))[0]).toContain('Invalid budget: plenty')
  await stage.send('/mission Dig a well\nRubric: there is water\nBudget: 400k tokens')
  expect((await replies(stage, 2))[1]).toContain('Mission started.')
  const spawned = await stage.next('worker.spawned')
  expect((await missionRow(stage)).definition).toMatchObject({
    rubric: 'there is water',
    budget: { max_tokens: 400_000 },
  })
  await stage.send('/goal something else')
  expect((await replies(stage, 3))[2]).toContain('has a mission that is active')
  await stage.send('/mission pause for lunch')
  expect((await replies(stage, 4))[3]).toContain('paused')
  expect(await missionRow(stage)).toMatchObject({ status: 'paused', state: { reason: 'for lunch' } })
  expect((await stage.store.sessions.get(spawned.data.worker_id))?.status).toBe('paused')
  await stage.send('/mission resume')
  expect((await replies(stage, 5))[4]).toBe('Mission resumed.')
  await stage.send('/mission status')
  expect((await replies(stage, 6))[5]).toMatch(
    /^Mission \(active\): Dig a well\n\n- Rounds: 0 of .*\n- Spent: .* tokens, .*\n\nRubric:\n\nthere is water$/,
  )
  await stage.send('/mission cancel no water')
  expect((await replies(stage, 7))[6]).toContain('cancelled, including its workers')
  await untilMission(stage, 'cancelled')
  await stage.until(events => events.at(-1)?.type === 'session.complete')
  await stage.send('/mission resume')
  expect((await replies(stage, 8))[7]).toContain('No mission is active')
  await stage.until(events => events.at(-1)?.type === 'session.complete')
  await expectSound(stage)
})

test('a pause command during a round ends its turn without another model call', async () => {
  const gate = Promise.withResolvers<undefined>()
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: { step: 0 }, answer: { tool_calls: [{ name: 'look', arguments: { value: 'a' } }] } },
        { answer: say('Done.') },
      ],
    },
    hold: nth => (nth === 1 ? gate.promise : undefined),
  })
  stage.start()
  await stage.send('/mission Look at it')
  await stage.server.requested(1)
  await stage.send('/mission pause')
  gate.resolve(undefined)
  await stage.until(events => events.at(-1)?.type === 'session.complete')
  await untilMission(stage, 'paused')
  expect(stage.server.requests).toHaveLength(1)
  expect(typesOf(await stage.events())).not.toContain('mission.evaluation.start')
  await stage.send('/mission resume')
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
})

test('after a /clear of its start, a mission is described to the model again', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        ...grading([verdict('satisfied')]),
        { when: { user: '^Continue working on the mission: Count them' }, answer: say('Done.') },
      ],
    },
  })
  await pauseSession(stage.deps, stage.session_id)
  await define(stage)
  await stage.send('/clear')
  await resumeSession(stage.deps, stage.session_id)
  stage.start()
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
})

test('a budget in USD is rejected when the evaluator has no price', async () => {
  await using stage = await setStage({
    config: { models: { catalog: { 'demo/model': { input: 1, output: 1 } } } },
    agent: { missions: { evaluator_model: 'demo/other' } },
    scenario: { rules: [...grading([verdict('satisfied')]), { answer: say('Done.') }] },
  })
  stage.start()
  await stage.send('/mission Dig a well\nBudget: $5')
  expect((await replies(stage, 1))[0]).toContain('Model demo/other has no price')
})

/** The advisor pass (contract 14.14; docs/advisor.md). */
import { defineOutcomes, pauseSession, resumeSession, stopSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { fakeClock } from '../turn/fake-clock.ts'
import { call, say, setStage, typesOf } from '../turn/stage.ts'
import { ADVISES, advisedAgent, advisorScenario } from './advisor-scenario.ts'

const catalog = { 'demo/model': { input: 1, output: 2 }, 'demo/advisor': { input: 10, output: 20 } }
const models = { default: 'demo/model', providers: { demo: { kind: 'scripted' as const } }, catalog }

/** Promise 14.1: The advisor is not a tool, and its usage is counted. */
test('the advisor reviews a turn that used tools before it ends, and the model acts on the advice', async () => {
  await using stage = await setStage({ scenario: advisorScenario, agent: advisedAgent, config: { models } })
  const harness = stage.start()
  await stage.send('note both')
  await stage.next('session.complete')
  await harness.idle()
  const events = await stage.events()
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(stage.ran).toEqual(['note:first', 'note:second'])
  const types = typesOf(events)
  expect(types.slice(types.indexOf('advisor.request') - 2, types.indexOf('advisor.request') + 4)).toEqual([
    'llm.response',
    'iteration.summary',
    'advisor.request',
    'advisor.result',
    'llm.request',
    'llm.response',
  ])
  const about = { model: 'demo/advisor', category: 'review', turn_id: expect.any(String), iteration_index: 1 }
  expect(events.filter(event => event.type === 'advisor.request').map(event => event.data)).toEqual([about])
  expect(events.filter(event => event.type === 'advisor.result').map(event => event.data)).toEqual([
    {
      ...about,
      content: 'Note the second one too.',
      truncated: false,
      input_tokens: 70,
      output_tokens: 30,
      cost_usd: 0.0013,
    },
  ])

  // The executor gets the advice as a message and has no advisor tool.
  const own = stage.server.requests.filter(request => request.rule !== 'advice')
  expect(JSON.stringify(own.at(-1)?.body.messages)).toContain(
    '[Advice on this task]\\nNote the second one too.',
  )
  expect(
    own
      .flatMap(request => (request.body.tools ?? []).map(tool => tool.function.name))
      .filter(name => /advis/i.test(name)),
  ).toEqual([])

  const usage = events.flatMap(event =>
    event.type === 'llm.response' || event.type === 'advisor.result' ? [event.data] : [],
  )
  const session = await stage.session()
  expect(session.input_tokens).toBe(usage.reduce((sum, data) => sum + data.input_tokens, 0))
  expect(session.cost_usd).toBeCloseTo(
    usage.reduce((sum, data) => sum + (data.cost_usd ?? 0), 0),
    10,
  )
  expect(events.find(event => event.type === 'turn.summary')?.data).toMatchObject({
    input_tokens: session.input_tokens,
  })
  expect(await stage.store.check()).toEqual([])
})

test('an advisor with nothing to add is recorded, and the model gets no message', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { name: 'advice', when: { system: ADVISES }, answer: say('Nothing to add.') },
        { steps: [call('note', 'x'), say('done')] },
      ],
    },
    agent: advisedAgent,
  })
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  expect((await stage.next('advisor.result')).data).toMatchObject({ content: '', truncated: false })
  expect(stage.server.requests.filter(request => request.rule !== 'advice')).toHaveLength(2)
})

test('no advice is requested for a turn without tools or without an advisor', async () => {
  for (const [agent, steps] of [
    [advisedAgent, [say('hello')]],
    [{}, [call('note', 'x'), say('done')]],
  ] as const) {
    await using stage = await setStage({ scenario: { rules: [{ steps: [...steps] }] }, agent })
    stage.start()
    await stage.send('go')
    await stage.next('session.complete')
    expect(typesOf(await stage.events()).filter(type => type.startsWith('advisor.'))).toEqual([])
  }
})

test('a long turn gets advice every every_iterations iterations, at most max_per_turn times', async () => {
  const rules = [
    { name: 'advice', when: { system: ADVISES }, answer: say('Nothing to add') },
    { steps: [...Array.from({ length: 7 }, (_, n) => call('note', String(n))), say('done')] },
  ]
  await using stage = await setStage({
    scenario: { rules },
    agent: { advisor: { model: 'demo/advisor', every_iterations: 2, max_per_turn: 3 } },
  })
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const asked = (await stage.events()).flatMap(event =>
    event.type === 'advisor.request' ? [[event.data.category, event.data.iteration_index]] : [],
  )
  expect(asked).toEqual([
    ['progress', 1],
    ['progress', 3],
    ['progress', 5],
  ])
})

/** Promise 14.1: A failing advisor never fails the turn. */
test('a failing advisor leaves the turn without advice and otherwise unchanged', async () => {
  const rules = [
    { when: { system: ADVISES }, answer: { error: { status: 500, message: 'the advisor is out' } } },
    { steps: [call('note', 'x'), say('done')] },
  ]
  await using stage = await setStage({ scenario: { rules }, agent: advisedAgent })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.complete')).data).toMatchObject({ reason: 'completed' })
  const events = await stage.events()
  expect(events.filter(event => event.type === 'advisor.failure').map(event => event.data)).toEqual([
    {
      model: 'demo/advisor',
      category: 'review',
      turn_id: expect.any(String),
      iteration_index: 1,
      error: expect.stringContaining('the advisor is out'),
    },
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
})

test('an unknown advisor model is a failure, and a silent advisor times out', async () => {
  for (const [model, answer, error] of [
    ['nowhere/model', say('x'), /unknown model provider/],
    ['demo/advisor', { hang: true as const }, /no advice within 20 s/],
  ] as const) {
    await using stage = await setStage({
      scenario: {
        rules: [{ when: { system: ADVISES }, answer }, { steps: [call('note', 'x'), say('done')] }],
      },
      agent: { advisor: { model } },
    })
    const clock = fakeClock()
    stage.start({ clock })
    await stage.send('go')
    await stage.next('advisor.request')
    if (model === 'demo/advisor') {
      await clock.waitsFor(20_000)
      clock.advance(20_000)
    }
    expect((await stage.next('advisor.failure')).data.error).toMatch(error)
    await stage.next('session.complete')
  }
})

test('the cost of the advisor counts against the budget of the goal', async () => {
  const [advice, ...rest] = advisorScenario.rules
  const dear = {
    ...advice,
    answer: { text: 'Note the second one too.', usage: { input_tokens: 90_000, output_tokens: 10_000 } },
  }
  await using stage = await setStage({
    scenario: { rules: [dear, ...rest] },
    agent: { ...advisedAgent, goals: { max_tokens: 100_000 } },
  })
  await defineOutcomes(stage.deps, stage.session_id, [
    { description: 'note both', rubric: { type: 'text', content: 'both are noted' } },
  ])
  stage.start()
  const verdict = await stage.next('span.outcome_evaluation_end')
  expect(verdict.data).toMatchObject({
    result: 'failed',
    explanation: expect.stringContaining('token budget'),
  })
})

test('a secret in the advice or in the work reaches neither the log nor the advisor', async () => {
  const secret = 'sk-abcdefghijklmnopqrstuvwx'
  const rules = [
    { name: 'advice', when: { system: ADVISES }, answer: say(`Use ${secret} instead.`) },
    { when: { user: 'Advice' }, answer: say('no') },
    { steps: [call('note', secret), say('done')] },
  ]
  await using stage = await setStage({ scenario: { rules }, agent: advisedAgent })
  stage.start()
  await stage.send(`note ${secret}`)
  await stage.next('session.complete')
  expect(JSON.stringify(await stage.events())).not.toContain(secret)
  expect(
    JSON.stringify(
      stage.server.requests.filter(request => request.rule === 'advice').map(request => request.body),
    ),
  ).not.toContain(secret)
})

test('a pause during an advisor call ends it, and the resumed turn does not ask again', async () => {
  const rules = [
    { name: 'advice', when: { system: ADVISES }, answer: { hang: true as const } },
    { steps: [call('note', 'x'), say('done')] },
  ]
  await using stage = await setStage({ scenario: { rules }, agent: advisedAgent })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('advisor.request')
  await pauseSession(stage.deps, stage.session_id)
  await harness.idle()
  await resumeSession(stage.deps, stage.session_id)
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'advisor.request')).toHaveLength(1)
  expect(events.filter(event => event.type === 'advisor.failure').map(event => event.data.error)).toEqual([
    expect.stringContaining('outcome unknown'),
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
})

test('a stop during an advisor call ends the turn, and the next turn asks again', async () => {
  const rules = [
    { when: { system: ADVISES }, times: 1, answer: { hang: true as const } },
    { when: { system: ADVISES }, answer: say('Nothing to add') },
    { steps: [call('note', 'x'), say('done')] },
  ]
  await using stage = await setStage({ scenario: { rules }, agent: advisedAgent })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('advisor.request')
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  await stage.send('again')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'advisor.result')).toHaveLength(1)
  expect(checkHistory(events, { settled: true })).toEqual([])
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addMessage,
  answerQuestion,
  pauseSession,
  respondInbox,
  resumeSession,
  stopSession,
  syntheticMessage,
} from '@cairn/sessions'
import { AppError, type EventDraft, type SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { alice, call, say, setStage, type Stage, typesOf } from './stage.ts'

const question = {
  name: 'ask_user_question',
  arguments: { questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }] },
}
const asking = {
  rules: [
    { when: { result: 'blue' }, answer: say('blue it is') },
    { when: { user: 'never mind' }, answer: say('fine') },
    { when: { user: 'paint' }, answer: { tool_calls: [question] } },
  ],
}

const results = (events: readonly SessionEvent[]) =>
  events.filter(event => event.type === 'tool.result').map(event => event.data)

/** Runs one step of a test on its own runner, as if the process had restarted between the steps. */
async function onFreshWorker(stage: Stage, step: () => Promise<unknown>): Promise<void> {
  const harness = stage.start()
  await step()
  await harness.idle()
  await harness.stop()
}

/** Promise 7.8: A waiting question occupies no runner and survives a restart. */
test('a question occupies no runner, survives a restart, and its answer is the result of its call', async () => {
  await using stage = await setStage({ scenario: asking })
  await onFreshWorker(stage, async () => {
    await stage.send('paint it')
    await stage.next('inbox.input_required')
  })
  expect(await stage.session()).toMatchObject({ status: 'active', waiting_on: 'question', lease: null })
  const asked = await stage.next('inbox.input_required')
  // A second runner finds nothing to do.
  await onFreshWorker(stage, () => Promise.resolve())
  expect((await stage.events()).filter(event => event.type === 'harness.wake')).toHaveLength(1)

  const responses = [{ question: 'Which colour?', answer: 'blue' }]
  await answerQuestion(stage.deps, {
    session_id: stage.session_id,
    tool_call_id: asked.data.tool_call_id,
    responses,
    principal: alice,
  })
  await onFreshWorker(stage, () => stage.next('session.complete'))
  const events = await stage.events()
  expect(typesOf(events)).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.response',
    'tool.call',
    'inbox.input_required',
    'ask_user_question.response',
    'harness.wake',
    'tool.result',
    'iteration.summary',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
  expect(events.find(event => event.type === 'ask_user_question.response')?.data).toMatchObject({
    responses: [{ answer: 'blue', is_other: false }],
    principal_user_id: alice.id,
  })
  const { turn_id } = (await stage.next('llm.request')).data
  expect(results(events)).toEqual([
    {
      tool_call_id: asked.data.tool_call_id,
      name: 'ask_user_question',
      content: JSON.stringify({
        responses: [{ question: 'Which colour?', answer: 'blue', is_other: false }],
      }),
      elapsed_ms: expect.any(Number),
      turn_id,
      iteration_index: 0,
    },
  ])
  expect(results(events)[0]?.elapsed_ms).toBeGreaterThan(0)
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
  expect(await stage.session()).toMatchObject({ waiting_on: null, status: 'completed' })
  await expect(
    answerQuestion(stage.deps, {
      session_id: stage.session_id,
      tool_call_id: asked.data.tool_call_id,
      responses,
      principal: alice,
    }),
  ).rejects.toMatchObject({ code: 'already_answered' })
})

test('an answer longer than a result may be is cut like any result, and the model reads what is recorded', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ when: { result: 'colours' }, answer: say('noted') }, ...asking.rules] },
  })
  const harness = stage.start()
  await stage.send('paint it')
  await stage.next('inbox.input_required')
  await harness.idle()
  await stage.send(`as in ${'a very long list of colours, '.repeat(4000)}`)
  await stage.next('session.complete')
  const [result] = results(await stage.events())
  expect(result).toMatchObject({ truncated: true, content: expect.stringContaining('bytes cut') })
  expect(stage.server.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool')).toEqual([
    expect.objectContaining({ tool_call_id: result?.tool_call_id, content: result?.content }),
  ])
  const whole = join(stage.dir, 'workspaces', stage.session_id, result?.full_result_path ?? '')
  expect(readFileSync(whole, 'utf8').length).toBeGreaterThan(100_000)
})

test('each of two questions gets its result when it is answered, and the model continues after both', async () => {
  const two = { tool_calls: [question, question] }
  await using stage = await setStage({
    scenario: { rules: [{ when: { result: 'blue' }, answer: say('blue it is') }, { answer: two }] },
  })
  await onFreshWorker(stage, async () => {
    await stage.send('paint it')
    await stage.next('inbox.input_required', 2)
  })
  const asked = (await stage.events()).filter(event => event.type === 'inbox.input_required')
  for (const [index, answer] of ['red', 'blue'].entries()) {
    await onFreshWorker(stage, async () => {
      await answerQuestion(stage.deps, {
        session_id: stage.session_id,
        tool_call_id: asked[1 - index]?.data.tool_call_id ?? '',
        responses: [{ question: 'Which colour?', answer }],
        principal: alice,
      })
      await stage.next('tool.result', index + 1)
    })
  }
  await onFreshWorker(stage, () => stage.next('session.complete'))
  const events = await stage.events()
  expect(results(events).map(({ tool_call_id }) => tool_call_id)).toEqual(
    asked.map(({ data }) => data.tool_call_id).toReversed(),
  )
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
})

test('an answer just before a stop is recorded as a result, and no new work starts', async () => {
  await using stage = await setStage({ scenario: asking })
  await onFreshWorker(stage, async () => {
    await stage.send('paint it')
    await stage.next('inbox.input_required')
  })
  await stage.send('blue')
  await stopSession(stage.deps, stage.session_id)
  await onFreshWorker(stage, async () => {
    await stage.send('/help')
    await stage.next('session.complete')
  })
  const events = await stage.events()
  expect(events.filter(event => event.type === 'llm.request')).toHaveLength(1)
  expect(results(events).map(({ content }) => content)).toEqual([expect.stringContaining('blue')])
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
})

test('a message instead of an answer closes the question, and its result reports that', async () => {
  await using stage = await setStage({ scenario: asking })
  const harness = stage.start()
  await stage.send('paint it')
  await stage.next('inbox.input_required')
  await harness.idle()
  await addMessage(stage.deps, {
    session_id: stage.session_id,
    content: 'never mind',
    principal: alice,
    on_question: 'pass_over',
  })
  await stage.next('session.complete')
  const events = await stage.events()
  const { items } = await stage.store.inbox.list({ org_id: 'org', session_id: stage.session_id, limit: 10 })
  expect(items).toMatchObject([{ status: 'expired', decision: 'passed_over' }])
  expect(results(events).map(result => JSON.parse(result.content))).toEqual([
    expect.objectContaining({ cancelled: true }),
  ])
  expect(stage.server.requests.at(-1)?.body.messages.map(message => message.role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'user',
  ])
  expect(await stage.session()).toMatchObject({ waiting_on: null })
})

test('text sent while a question waits is its answer, and the same turn continues', async () => {
  await using stage = await setStage({ scenario: asking })
  const harness = stage.start()
  await stage.send('paint it')
  await stage.next('inbox.input_required')
  await harness.idle()
  await stage.send('Blue')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'user.message')).toHaveLength(1)
  expect(events.find(event => event.type === 'ask_user_question.response')?.data).toMatchObject({
    responses: [{ question: 'Which colour?', answer: 'blue', is_other: false }],
    principal_user_id: alice.id,
  })
  expect(events.findLast(event => event.type === 'llm.response')?.data.message.content).toBe('blue it is')
})

test('a question can be answered while the session is paused, and the turn continues after the resume', async () => {
  await using stage = await setStage({ scenario: asking })
  const harness = stage.start()
  await stage.send('paint it')
  const asked = await stage.next('inbox.input_required')
  await harness.idle()
  await pauseSession(stage.deps, stage.session_id)
  await answerQuestion(stage.deps, {
    session_id: stage.session_id,
    tool_call_id: asked.data.tool_call_id,
    responses: [{ question: 'Which colour?', answer: 'blue' }],
    principal: alice,
  })
  await harness.idle()
  expect((await stage.events()).at(-1)?.type).toBe('ask_user_question.response')
  await resumeSession(stage.deps, stage.session_id)
  await stage.next('session.complete')
})

const gated = {
  scenario: {
    rules: [
      { when: { user: 'approved' }, steps: [{ tool_calls: [{ repeat: 'note' }] }, say('noted at last')] },
      { when: { user: 'rejected' }, answer: say('then not') },
      { when: { user: 'other' }, steps: [call('note', 'b'), say('asked for b')] },
      { when: { user: 'same again' }, steps: [call('note', 'a'), say('asked again')] },
      { when: { user: 'note a' }, steps: [call('note', 'a'), say('waiting for approval')] },
    ],
  },
  agent: { governance: { require_approval: ['note'] } },
}

async function gateItem(stage: Stage): Promise<string> {
  const { items } = await stage.store.inbox.list({
    org_id: 'org',
    session_id: stage.session_id,
    status: ['pending'],
    limit: 10,
  })
  const [item] = items
  if (!item) throw new Error('no pending gate')
  return item.id
}

test('an approval covers one call once, with restarts between all steps', async () => {
  await using stage = await setStage(gated)
  await onFreshWorker(stage, async () => {
    await stage.send('note a')
    await stage.next('session.complete')
  })
  const order = typesOf(await stage.events())
  expect(order.slice(order.indexOf('tool.call'), order.indexOf('tool.result') + 1)).toEqual([
    'tool.call',
    'policy.denied',
    'inbox.governance_gate',
    'tool.result',
  ])
  expect(results(await stage.events())[0]).toMatchObject({
    elapsed_ms: 0,
    content: expect.stringContaining('policy_blocked_overridable'),
  })
  expect(stage.ran).toEqual([])

  const item = await gateItem(stage)
  expect(await respondInbox(stage.deps, item, { decision: 'approve' }, alice)).toMatchObject({
    status: 'responded',
    decision: 'approve',
  })
  await onFreshWorker(stage, () => stage.next('session.complete', 2))
  expect(stage.ran).toEqual(['note:a'])
  expect((await stage.events()).find(event => event.type === 'policy.allowed')?.data).toMatchObject({
    tool_name: 'note',
    reason: 'human approval',
  })
  expect(
    (await stage.events()).find(event => event.type === 'user.message' && event.data.synthetic !== undefined)
      ?.data,
  ).toMatchObject({ synthetic: 'governance_decision', inbox_item_id: item })

  const again = respondInbox(stage.deps, item, { decision: 'reject' }, alice)
  await expect(again).rejects.toBeInstanceOf(AppError)
  await expect(again).rejects.toMatchObject({ code: 'already_answered', extra: { decision: 'approve' } })

  await onFreshWorker(stage, async () => {
    await stage.send('same again')
    await stage.next('session.complete', 3)
  })
  expect(stage.ran).toEqual(['note:a'])
  expect((await stage.events()).filter(event => event.type === 'inbox.governance_gate')).toHaveLength(2)

  await onFreshWorker(stage, async () => {
    await stage.send('other')
    await stage.next('session.complete', 4)
  })
  expect(stage.ran).toEqual(['note:a'])
  expect((await stage.events()).filter(event => event.type === 'inbox.governance_gate')).toHaveLength(3)
})

test('a rejection reaches the model and starts nothing', async () => {
  await using stage = await setStage(gated)
  stage.start()
  await stage.send('note a')
  await stage.next('session.complete')
  await respondInbox(stage.deps, await gateItem(stage), { decision: 'reject' }, alice)
  await stage.next('session.complete', 2)
  expect(stage.ran).toEqual([])
  expect((await stage.events()).findLast(event => event.type === 'llm.response')?.data.message.content).toBe(
    'then not',
  )
})

test('of two concurrent decisions one is recorded and the other is rejected', async () => {
  await using stage = await setStage(gated)
  const harness = stage.start()
  await stage.send('note a')
  await stage.next('session.complete')
  await harness.stop()
  const item = await gateItem(stage)
  const outcomes = await Promise.allSettled([
    respondInbox(stage.deps, item, { decision: 'approve' }, alice),
    respondInbox(stage.deps, item, { decision: 'reject' }, alice),
  ])
  expect(outcomes.map(outcome => outcome.status)).toEqual(['fulfilled', 'rejected'])
  expect(
    (await stage.events()).filter(
      event => event.type === 'user.message' && event.data.synthetic === 'governance_decision',
    ),
  ).toHaveLength(1)
})

/** Promise 6.4: A stop expires the open question, and the next text is a message. */
test.each([
  ['a stop', (stage: Stage) => stopSession(stage.deps, stage.session_id)],
  ['/stop as a message', (stage: Stage) => stage.send('/stop')],
] as const)('%s expires the waiting question, and the next text is a message', async (_, stop) => {
  await using stage = await setStage({ scenario: asking })
  await onFreshWorker(stage, async () => {
    await stage.send('paint it')
    await stage.next('inbox.input_required')
  })
  await stop(stage)
  expect(await stage.session()).toMatchObject({ status: 'active', state: 'idle', waiting_on: null })
  const { items } = await stage.store.inbox.list({ org_id: 'org', session_id: stage.session_id, limit: 10 })
  expect(items).toMatchObject([{ kind: 'input_required', status: 'expired', decision: 'stopped' }])

  const asked = await stage.next('inbox.input_required')
  await expect(
    answerQuestion(stage.deps, {
      session_id: stage.session_id,
      tool_call_id: asked.data.tool_call_id,
      responses: [{ question: 'Which colour?', answer: 'blue' }],
      principal: alice,
    }),
  ).rejects.toMatchObject({ code: 'already_answered', message: 'This has expired: stopped.' })

  await onFreshWorker(stage, async () => {
    await stage.send('never mind')
    await stage.next('session.complete')
  })
  const events = await stage.events()
  expect(events.some(event => event.type === 'ask_user_question.response')).toBe(false)
  expect(results(events).map(({ content }) => JSON.parse(content) as unknown)).toEqual([
    { cancelled: true, reason: 'the turn ended before there was an answer' },
  ])
  expect(events.findLast(event => event.type === 'llm.response')?.data.message.content).toBe('fine')
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
})

/** Promise 6.4: A stop expires the action that the turn waits for. */
test('a stop expires the action that the turn waits for, and completing it later is rejected', async () => {
  const action = { title: 'Log in', instructions: 'Log in at the bank.', reason: 'It asks for a code.' }
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: 'never mind' }, answer: say('fine') },
        { answer: { tool_calls: [{ name: 'request_user_action', arguments: action }] } },
      ],
    },
  })
  await onFreshWorker(stage, async () => {
    await stage.send('pay the bill')
    await stage.next('inbox.action_required')
  })
  const item = await gateItem(stage)
  await stopSession(stage.deps, stage.session_id)
  expect(await stage.session()).toMatchObject({ status: 'active', state: 'idle', waiting_on: null })
  await expect(respondInbox(stage.deps, item, { completed: true }, alice)).rejects.toMatchObject({
    code: 'already_answered',
    message: 'This has expired: stopped.',
  })
  await onFreshWorker(stage, async () => {
    await stage.send('never mind')
    await stage.next('session.complete')
  })
  expect(checkHistory(await stage.events(), { settled: true, current: true })).toEqual([])
})

test('an approval survives a stop, because it concerns one call', async () => {
  await using stage = await setStage({
    ...gated,
    scenario: {
      rules: [
        { when: { user: 'approved' }, steps: [{ tool_calls: [{ repeat: 'note' }] }, say('noted at last')] },
        { steps: [call('note', 'a'), { text: 'I begin', hang: true as const }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('note a')
  await stage.next('llm.request', 2)
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  expect(await stage.session()).toMatchObject({ state: 'needs_approval' })
  await respondInbox(stage.deps, await gateItem(stage), { decision: 'approve' }, alice)
  await stage.next('session.complete')
  expect(stage.ran).toEqual(['note:a'])
})

test('in a log of an older release, the answer to a question of a stopped turn is answered', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ when: { user: 'approved' }, answer: say('blue it is') }, ...asking.rules] },
  })
  await onFreshWorker(stage, async () => {
    await stage.send('paint it')
    await stage.next('inbox.input_required')
  })
  const asked = await stage.next('inbox.input_required')
  // Another decision arrives meanwhile and waits for the question.
  await stage.store.commit({
    session_id: stage.session_id,
    events: [syntheticMessage('governance_decision', 'approved')],
  })
  await stopSession(stage.deps, stage.session_id)
  const answered = {
    type: 'ask_user_question.response',
    data: {
      tool_call_id: asked.data.tool_call_id,
      responses: [{ question: 'Which colour?', answer: 'blue', is_other: false }],
    },
  } as unknown as EventDraft
  await stage.store.commit({ session_id: stage.session_id, events: [answered] })
  await onFreshWorker(stage, () => stage.next('session.complete'))
  expect((await stage.events()).findLast(event => event.type === 'llm.response')?.data.message.content).toBe(
    'blue it is',
  )
})

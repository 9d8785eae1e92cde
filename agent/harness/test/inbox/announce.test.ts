/** What an agent announces, and the actions that it asks for (contract 14.11; docs/inbox.md). */
import type { EventType } from '@cairn/protocol'
import { acknowledgeInbox, pauseSession, respondInbox, resumeSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { fakeClock } from '../turn/fake-clock.ts'
import { alice, call, say, setStage, type Stage, typesOf } from '../turn/stage.ts'

const itemsOf = async (stage: Stage) =>
  (await stage.store.inbox.list({ org_id: 'org', session_id: stage.session_id, limit: 50 })).items
const plan = {
  tool_calls: [
    {
      name: 'todo',
      arguments: {
        todos: [
          { id: '1', content: 'dig', status: 'completed' },
          { id: '2', content: 'plant', status: 'in_progress' },
        ],
      },
    },
  ],
}

/** Promise 14.11: Long work writes check-ins, of which at most one is open. */
test('long work writes a check-in every checkin_minutes, and only the newest item is open', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ steps: [plan, call('hang', 'a'), call('hang', 'b'), say('planted')] }] },
    agent: { inbox: { checkin_minutes: 5, task_complete_minutes: 60 } },
    limits: { tool_timeout_s: 301 },
  })
  const clock = fakeClock()
  stage.start({ clock })
  await stage.send('make a garden')
  for (let nth = 2; nth <= 3; nth++) {
    await stage.next('tool.call', nth)
    await clock.waitsFor(301_000)
    clock.advance(301_000)
    await clock.waitsFor(5_000)
    clock.advance(5_000)
    await stage.next('tool.result', nth)
  }
  await stage.next('session.complete')
  const events = await stage.events()
  const told = events.filter(event => event.type === 'inbox.progress_checkin').map(event => event.data)
  expect(told).toEqual([
    {
      progress_summary: 'Update the plan and try to call hang.\nPlan: 1 of 2 done; now: plant.',
      iterations: 2,
      last_tool: 'hang',
      elapsed_seconds: expect.any(Number),
    },
    {
      progress_summary: 'Update the plan and try to call hang.\nPlan: 1 of 2 done; now: plant.',
      iterations: 3,
      last_tool: 'hang',
      elapsed_seconds: expect.any(Number),
    },
  ])
  expect(told.map(data => Math.floor(data.elapsed_seconds / 60))).toEqual([5, 10])
  // The work was shorter than task_complete_minutes, and its check-ins expire with it.
  expect(typesOf(events)).not.toContain('inbox.task_complete')
  expect((await itemsOf(stage)).map(item => item.status)).toEqual(['expired', 'expired'])
  expect(checkHistory(events, { settled: true })).toEqual([])
})

test('a check-in can be acknowledged', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        {
          steps: [
            call('look', 'a'),
            { tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'On?' }] } }] },
          ],
        },
      ],
    },
    agent: { inbox: { checkin_iterations: 1 } },
  })
  stage.start()
  await stage.send('go')
  await stage.next('inbox.input_required')
  const [item] = (await itemsOf(stage)).filter(found => found.kind === 'progress_checkin')
  expect(await acknowledgeInbox(stage.deps, item!.id, alice)).toMatchObject({ status: 'acknowledged' })
})

/** Promise 14.11: A long task creates an inbox item when it ends. */
test('work is announced with its answer after its end only when it took long', async () => {
  for (const minutes of [10, 0]) {
    await using stage = await setStage({
      scenario: { rules: [{ answer: say('Here you are.') }] },
      agent: { inbox: { task_complete_minutes: minutes } },
    })
    const harness = stage.start()
    await stage.send('go')
    await stage.next('session.complete')
    await harness.idle()
    const events = await stage.events()
    if (minutes === 10) {
      expect(typesOf(events).filter(type => type.startsWith('inbox.'))).toEqual([])
      continue
    }
    expect(typesOf(events).slice(-3)).toEqual(['turn.summary', 'session.complete', 'inbox.task_complete'])
    expect(events.at(-1)?.data).toEqual({
      outcome: 'success',
      summary: 'Here you are.',
      duration_seconds: expect.any(Number),
      session_title: 'Titled',
    })
    expect(await itemsOf(stage)).toMatchObject([
      {
        kind: 'task_complete',
        status: 'pending',
        title: 'Titled',
        body: 'Here you are.',
        source_event_id: events.at(-1)?.id,
      },
    ])
    expect(await stage.session()).toMatchObject({ status: 'completed', lease: null, waiting_on: null })
    expect(checkHistory(events, { settled: true })).toEqual([])
  }
})

test('the announcement contains the outcome of the goal', async () => {
  const rules = [
    {
      when: { schema: 'outcome_verdict' },
      answer: { json: { result: 'blocked', explanation: 'no key', feedback: '' } },
    },
    { answer: say('I cannot.') },
  ]
  await using stage = await setStage({ scenario: { rules }, agent: { inbox: { task_complete_minutes: 0 } } })
  stage.start()
  await stage.send('/goal open the door')
  expect((await stage.next('inbox.task_complete')).data).toMatchObject({
    outcome: 'blocked',
    summary: 'I cannot.',
  })
})

const ask = {
  tool_calls: [
    {
      name: 'request_user_action',
      arguments: {
        title: 'Log in',
        instructions: 'Log in at the desk.',
        reason: 'only you can',
        action_type: 'login',
        target: 'https://desk.example.org',
      },
    },
  ],
}
const asking = {
  rules: [
    { when: { user: 'says that this is done' }, answer: say('Thank you.') },
    { when: { user: 'never mind' }, answer: say('Then not.') },
    { steps: [ask] },
  ],
}

/** Promise 7: A waiting user action occupies no runner, and the same turn continues when it is done. */
test('a waiting user action occupies no runner, and the same turn continues when it is done', async () => {
  await using stage = await setStage({ scenario: asking })
  const first = stage.start()
  await stage.send('go')
  const asked = await stage.next('inbox.action_required')
  await first.idle()
  expect(asked.data).toEqual({
    item_id: expect.any(String),
    title: 'Log in',
    instructions: 'Log in at the desk.',
    context: '',
    action_type: 'login',
    target: 'https://desk.example.org',
    reason: 'only you can',
    tool_call_id: expect.any(String),
  })
  expect(await stage.session()).toMatchObject({ status: 'active', lease: null, waiting_on: 'action' })
  expect(checkHistory(await stage.events(), { settled: true })).toEqual([])
  await first.stop()

  const [item] = await itemsOf(stage)
  await respondInbox(stage.deps, item!.id, { completed: true }, alice)
  stage.start()
  await stage.next('session.complete')
  const events = await stage.events()
  expect(
    new Set(events.flatMap(event => (event.type === 'llm.response' ? [event.data.turn_id] : []))).size,
  ).toBe(1)
  expect(events.filter(event => event.type === 'session.complete')).toHaveLength(1)
  expect(await stage.session()).toMatchObject({ waiting_on: null })
  expect(checkHistory(events, { settled: true })).toEqual([])
  await expect(respondInbox(stage.deps, item!.id, { completed: true }, alice)).rejects.toMatchObject({
    code: 'already_answered',
  })
})

test('a message instead of the action is answered first, and the action can still be completed later', async () => {
  await using stage = await setStage({ scenario: asking })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('inbox.action_required')
  await harness.idle()
  await stage.send('never mind')
  await stage.next('session.complete')
  const [item] = await itemsOf(stage)
  expect(item).toMatchObject({ kind: 'action_required', status: 'pending' })
  await respondInbox(stage.deps, item!.id, { completed: true }, alice)
  await stage.next('session.complete', 2)
  expect((await stage.events()).findLast(event => event.type === 'llm.response')?.data).toMatchObject({
    message: { content: 'Thank you.' },
  })
})

test('a turn still waits for its action after a pause and resume', async () => {
  await using stage = await setStage({ scenario: asking })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('inbox.action_required')
  await harness.idle()
  await pauseSession(stage.deps, stage.session_id)
  await resumeSession(stage.deps, stage.session_id)
  await stage.until(events => events.filter(event => event.type === 'harness.wake').length === 1)
  await harness.idle()
  expect((await stage.events()).filter(event => event.type === 'llm.request')).toHaveLength(1)
  expect(await stage.session()).toMatchObject({ status: 'active', waiting_on: 'action', lease: null })
})

/** Every turn gives the same answer, and its goal gets this verdict. */
const judgedAs = (result: string, explanation: string) => ({
  scenario: {
    rules: [
      { when: { schema: 'outcome_verdict' }, answer: { json: { result, explanation, feedback: '' } } },
      { answer: say('tried') },
    ],
  },
})
async function pursue(stage: Stage, told: EventType) {
  const harness = stage.start()
  await stage.send('/goal ship it')
  await stage.next(told)
  await harness.idle()
  return harness
}

/** Promise 14.10: A blocked goal asks a person for an action, and the agent continues when it is done. */
test('a blocked goal asks for an action with the reason, and the next turn supersedes it', async () => {
  await using stage = await setStage(judgedAs('blocked', 'Only you have the key.'))
  const harness = await pursue(stage, 'inbox.action_required')
  expect(await itemsOf(stage)).toMatchObject([
    {
      kind: 'action_required',
      status: 'pending',
      title: 'Goal blocked: ship it',
      body: 'Only you have the key.',
      payload: { action_type: 'goal_blocked' },
    },
  ])
  expect(await stage.session()).toMatchObject({ status: 'completed', state: 'needs_action' })

  await stage.send('never mind')
  await stage.next('session.complete', 2)
  await harness.idle()
  expect(await itemsOf(stage)).toMatchObject([{ status: 'expired', decision: 'superseded' }])
  expect(await stage.session()).toMatchObject({ status: 'completed', state: 'done' })
  expect(checkHistory(await stage.events(), { settled: true })).toEqual([])
})

test('completing the action of a blocked goal informs the agent, which continues', async () => {
  await using stage = await setStage(judgedAs('blocked', 'Only you have the key.'))
  const harness = await pursue(stage, 'inbox.action_required')
  const [item] = await itemsOf(stage)
  await respondInbox(stage.deps, item!.id, { completed: true, note: 'It is in the drawer.' }, alice)
  await stage.next('session.complete', 2)
  await harness.idle()
  expect(JSON.stringify(stage.server.requests.at(-1))).toContain('It is in the drawer.')
  expect(await stage.session()).toMatchObject({ state: 'done' })
})

test('a failed goal is announced at once, however short the work was', async () => {
  await using stage = await setStage(judgedAs('failed', 'It cannot be reached.'))
  await pursue(stage, 'inbox.task_complete')
  expect(await itemsOf(stage)).toMatchObject([{ kind: 'task_complete', payload: { outcome: 'failed' } }])
})

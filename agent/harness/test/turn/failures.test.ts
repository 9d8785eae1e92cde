import { join } from 'node:path'
import { createModels } from '@cairn/models'
import { startHarness } from '@cairn/harness'
import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'
import { call, say, setStage, typesOf } from './stage.ts'

const tooMany = { error: { status: 429, message: 'slow down', headers: { 'retry-after': '7' } } }

test('a 429 is retried after its Retry-After, with a new llm.request event', async () => {
  const clock = fakeClock()
  await using stage = await setStage({
    scenario: { rules: [{ times: 1, answer: tooMany }, { answer: say('now then') }] },
    limits: { llm_retries: 3 },
  })
  stage.start({ clock })
  await stage.send('go')
  await clock.waitsFor(7000)
  expect((await stage.events()).filter(event => event.type === 'llm.request')).toHaveLength(1)
  clock.advance(7000)
  await stage.next('session.complete')
  expect(
    (await stage.events()).filter(event => event.type === 'llm.request').map(event => event.data.attempt),
  ).toEqual([0, 1])
})

test('a retry first retracts the chunks of the broken call', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { times: 1, answer: { text: 'half an ans', cut_off: true, pace_ms: 5 } },
        { answer: say('the whole answer') },
      ],
    },
    limits: { llm_retries: 1 },
  })
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const types = (await stage.events())
    .filter(event => event.type === 'llm.request' || event.type === 'llm.delta')
    .map(event =>
      event.type === 'llm.request' ? `request ${event.data.attempt}` : event.data.reset ? 'reset' : 'chunk',
    )
  expect([...new Set(types)]).toEqual(['request 0', 'chunk', 'request 1', 'reset'])
  expect(types.indexOf('reset')).toBe(types.indexOf('request 1') + 1)
  expect(types.at(-1)).toBe('chunk')
})

test('a session fails with the reason when its retries are used up', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ answer: { error: { status: 503, message: 'overloaded' } } }] },
    limits: { llm_retries: 2 },
  })
  stage.start()
  await stage.send('go')
  const fail = await stage.next('session.fail')
  expect(fail.data).toMatchObject({
    reason: 'max_retries_exhausted',
    error_category: 'provider_error',
    retryable: true,
    attempts: 3,
  })
  expect(await stage.session()).toMatchObject({ status: 'failed', lease: null })
  expect(typesOf(await stage.events())).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.request',
    'llm.request',
    'session.fail',
  ])
})

test('an error that no retry can fix is not retried', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ answer: { error: { status: 401, message: 'who are you' } } }] },
    limits: { llm_retries: 3 },
  })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'auth_failed',
    attempts: 1,
    retryable: false,
  })
})

test('a silent model causes heartbeats and is cut off when it is stale', async () => {
  const clock = fakeClock()
  await using stage = await setStage({
    scenario: { rules: [{ answer: { hang: true, delay_ms: 0 } }] },
    limits: { llm_heartbeat_s: 15, llm_stale_s: 40 },
  })
  stage.start({ clock })
  await stage.send('go')
  await stage.server.requested(1)
  clock.advance(15_000)
  expect((await stage.next('llm.heartbeat')).data).toMatchObject({
    silent_for_seconds: 15,
    iteration_index: 0,
  })
  clock.advance(15_000)
  expect((await stage.next('llm.heartbeat', 2)).data.silent_for_seconds).toBe(30)
  // Its first byte was a sign of life: 40 s later the call ends.
  clock.advance(60_000)
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'timeout',
    retryable: true,
  })
  await expect(stage.server.requests[0]?.ended).resolves.toBe('left')
})

test('two reminders and the stronger model precede the failure of the session', async () => {
  const empty = { answer: { empty: true as const } }
  await using stage = await setStage({
    scenario: { rules: [empty] },
    agent: { escalation_model: 'demo/strong' },
  })
  stage.start()
  await stage.send('go')
  const fail = await stage.next('session.fail')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'llm.request').map(event => event.data.model)).toEqual([
    'demo/model',
    'demo/model',
    'demo/model',
    'demo/strong',
  ])
  expect(events.find(event => event.type === 'session.model_escalated')?.data).toEqual({
    reason: 'empty_llm_response',
    model: 'demo/strong',
  })
  expect(fail.data).toMatchObject({ reason: 'empty_llm_response', error_category: 'empty_response' })
  expect(stage.server.requests[1]?.body.messages.at(-1)?.content).toMatch(/empty/)
})

test('an answer after a reminder completes the turn normally', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ times: 2, answer: { empty: true } }, { answer: say('sorry, here it is') }] },
  })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.complete')).data.reason).toBe('completed')
  expect((await stage.events()).filter(event => event.type === 'session.model_escalated')).toEqual([])
})

test('the last call of the budget has no tools and must answer', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { tools_disabled: true }, answer: say('as far as I got') },
        { answer: { tool_calls: [{ name: 'look', arguments: { value: '{{calls}}' } }] } },
      ].map(rule => JSON.parse(JSON.stringify(rule).replace('{{calls}}', 'x'))),
    },
    agent: { max_iterations: 3 },
  })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.complete')).data.reason).toBe('budget_exhausted')
  const requests = (await stage.events()).filter(event => event.type === 'llm.request')
  expect(requests.map(event => event.data.tools_disabled ?? false)).toEqual([false, false, true])
  expect(stage.server.requests.at(-1)?.body.tools ?? []).toEqual([])
})

/**
 * Promise 7.6: A turn makes at most as many model calls as its budget allows and reports when it is
 * exhausted.
 */
test.each([
  ['is empty', { empty: true as const }],
  ['is cut for its length', { text: 'as far as', finish_reason: 'length' }],
  ['calls tools that it was not offered', call('look', 'more')],
])(
  'a budget of three calls allows three calls and ends the turn when the last answer %s',
  async (_, last) => {
    await using stage = await setStage({
      scenario: {
        rules: [
          { when: { tools_disabled: true }, answer: last },
          { answer: { tool_calls: [{ name: 'look', arguments: { value: 'x' } }] } },
        ],
      },
      agent: { max_iterations: 3, escalation_model: 'demo/strong' },
    })
    const harness = stage.start()
    await stage.send('go')
    await stage.until(events => events.some(({ type }) => /^session\.(complete|fail)$/.test(type)))
    await harness.idle()
    const events = await stage.events()
    expect(events.at(-1)).toMatchObject({ type: 'session.complete', data: { reason: 'budget_exhausted' } })
    expect(events.filter(event => event.type === 'llm.request')).toHaveLength(3)
    expect(stage.server.requests).toHaveLength(3)
  },
)

test('the same call with the same result five times ends the turn as a loop', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: call('look', 'same') }] } })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.complete')).data.reason).toBe('tool_loop')
  expect((await stage.events()).filter(event => event.type === 'tool.call')).toHaveLength(5)
})

test('an answer that was cut at its length is continued', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { times: 1, answer: { text: 'one, two,', finish_reason: 'length' } },
        { answer: say(' three.') },
      ],
    },
  })
  stage.start()
  await stage.send('count')
  await stage.next('session.complete')
  expect(
    (await stage.events())
      .filter(event => event.type === 'llm.response')
      .map(event => event.data.finish_reason),
  ).toEqual(['length', 'stop'])
  expect(stage.server.requests[1]?.body.messages.at(-1)?.content).toMatch(/cut off/)
})

test('a session whose agent is no longer configured fails with the setting to change', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('hi') }] } })
  const config = Config.parse({})
  const harness = startHarness({
    store: stage.store,
    models: createModels(config.models, {}),
    tools: [],
    config,
    dataDir: stage.dir,
    workspacesDir: join(stage.dir, 'workspaces'),
    runnerId: 'w',
    newId: () => 'x',
    logger: () => {},
  })
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'configuration',
    error: expect.stringContaining('models.default'),
  })
  await harness.stop()
})

test('a message that arrives during a permanent failure is still answered', async () => {
  const answer = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: {
      rules: [
        { times: 1, answer: { error: { status: 400, message: 'bad' } } },
        { when: { user: 'try this' }, answer: say('that works') },
      ],
    },
    hold: () => answer.promise,
  })
  stage.start()
  await stage.send('go')
  await stage.server.requested(1)
  await stage.send('try this')
  answer.resolve()
  await stage.next('session.complete')
  expect((await stage.events()).map(event => event.type)).not.toContain('session.fail')
})

/** Promise 7.11: Arguments nested too deep fail their call, not the turn. */
test.each([3000, 200_000])(
  'arguments nested %i levels deep fail only that call, and the turn continues without a crash',
  async depth => {
    const raw_arguments = `{"value":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
    await using stage = await setStage({
      scenario: { rules: [{ steps: [{ tool_calls: [{ name: 'note', raw_arguments }] }, say('as it is')] }] },
      agent: { saga: { enabled: true } },
    })
    stage.start()
    await stage.send('go')
    await stage.until(events => events.some(({ type }) => /^session\.(complete|fail)$/.test(type)))
    const events = await stage.events()
    expect(events.at(-1)).toMatchObject({ type: 'session.complete', data: { reason: 'completed' } })
    expect(events.filter(event => event.type === 'harness.crash')).toEqual([])
    const [result] = events.filter(event => event.type === 'tool.result')
    expect(result?.data).toMatchObject({
      elapsed_ms: 0,
      content: expect.stringMatching(/Tool execution failed: invalid arguments: .*deeper than 64 levels/),
    })
    expect(stage.ran).toEqual([])
  },
)

/** Promise 7.11: Text streamed before an answer exceeded its limit stays in the log. */
test('text before an answer exceeded its limit stays in the log, and the call is not retried', async () => {
  const text = `${'a line of words\n'.repeat(140_000)}`
  await using stage = await setStage({
    scenario: { chunk_chars: 4096, rules: [{ answer: say(text) }] },
    limits: { llm_retries: 3 },
  })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    reason: 'llm_call_failed',
    error_category: 'invalid_response',
    retryable: false,
    attempts: 1,
  })
  const events = await stage.events()
  const shown = events
    .flatMap(event => (event.type === 'llm.delta' ? [event.data.content ?? ''] : []))
    .join('')
  expect(shown.length).toBeGreaterThan(2_000_000)
  expect(text.startsWith(shown)).toBe(true)
  expect(events.filter(event => event.type === 'llm.delta' && event.data.reset)).toEqual([])
  expect(stage.server.requests).toHaveLength(1)
})

test('a call ends at its maximum duration, even if the server shows signs of life', async () => {
  const clock = fakeClock()
  await using stage = await setStage({
    scenario: { rules: [{ answer: { hang: true } }] },
    limits: { llm_call_s: 60, llm_stale_s: 100_000 },
  })
  stage.start({ clock })
  await stage.send('go')
  await stage.server.requested(1)
  clock.advance(60_000)
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'timeout',
    retryable: false,
    error: expect.stringContaining('limits.llm_call_s'),
  })
  await expect(stage.server.requests[0]?.ended).resolves.toBe('left')
})

import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { call, say, setStage, typesOf } from '../turn/stage.ts'

const SUMMARISES = 'keep the memory of an assistant'
const long = (word: string): string => `${word} `.repeat(1500)
const small = (window: number) => ({
  models: {
    default: 'demo/model',
    providers: { demo: { kind: 'scripted' as const } },
    catalog: { 'demo/model': { context_window: window } },
  },
})
const tooLong = { error: { status: 400, message: 'the prompt is too long', code: 'context_length_exceeded' } }
const summary = { name: 'summary', when: { system: SUMMARISES }, answer: say('What went before.') }

test('compacts a turn that outgrows the window between iterations, and separates no call from its result', async () => {
  await using stage = await setStage({
    config: small(9000),
    scenario: {
      rules: [
        summary,
        { when: { result: '^saw one' }, answer: call('look', long('two')) },
        { when: { result: '^saw two' }, answer: call('look', long('three')) },
        { when: { user: '^look', step: 0 }, answer: call('look', long('one')) },
        { answer: say('done') },
      ],
    },
  })
  stage.start()
  await stage.send('look around')
  await stage.next('session.complete')
  const events = await stage.events()
  const compact = events.find(event => event.type === 'context.compact')
  expect(compact?.data).toMatchObject({
    strategy: 'summary',
    reason: 'threshold',
    original_message_count: 7,
    cost_unpriced_model: 'demo/model',
  })
  expect(compact?.data.compacted_messages).toEqual([
    { role: 'user', content: '[Summary of the conversation so far]\nWhat went before.' },
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(typesOf(events).filter(type => type === 'context.compact').length).toBeLessThanOrEqual(2)
  for (const { body } of stage.server.requests) {
    const asked = body.messages.flatMap(message => (message.tool_calls ?? []).map(made => made.id))
    expect(body.messages.flatMap(message => (message.role === 'tool' ? [message.tool_call_id] : []))).toEqual(
      asked,
    )
  }
  const { input_tokens } = await stage.session()
  const summed = events.flatMap(event =>
    event.type === 'llm.response' || event.type === 'context.compact' ? [event.data.input_tokens ?? 0] : [],
  )
  expect(input_tokens).toBe(summed.reduce((sum, tokens) => sum + tokens, 0))
})

/** Promise 7: A request that exceeds the context is compacted and retried once. */
test('retries a request that the server finds too long once, after a compaction', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        summary,
        { when: { user: 'first' }, answer: say('yes') },
        { times: 1, answer: tooLong },
        { answer: say('now it fits') },
      ],
    },
  })
  stage.start()
  await stage.send('first')
  await stage.next('session.complete')
  await stage.send('second')
  await stage.next('session.complete', 2)
  const events = await stage.events()
  expect(events.find(event => event.type === 'context.compact')?.data).toMatchObject({ reason: 'overflow' })
  expect(typesOf(events).slice(-7)).toEqual([
    'llm.request',
    'context.compact',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
})

const REFUSALS = [
  ['total message size 10176584 exceeds limit 2097152', 400, undefined],
  ['prompt token count of 150000 exceeds the limit of 128000', 400, 'model_max_prompt_tokens_exceeded'],
  ['Range of input length should be [1, 98304]', 400, undefined],
  ['Prompt exceeds max length', 400, '1261'],
  ['Input Tokens Exceeded: Number of input tokens exceeds maximum length.', 400, undefined],
  ['Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000', 422, undefined],
  // These name no cause. The conversation is long by our own count.
  ['Bad Request', 400, undefined],
  ['Request contains an invalid argument.', 400, 'INVALID_ARGUMENT'],
  ['parameter error', 422, '1210'],
  ['', 413, undefined],
] as const

/** Promise 7.5: A refusal that names no cause compacts a long conversation once, in whatever words it comes. */
test('two long messages and a third that is refused, in whatever words, become a compaction and an answer', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        summary,
        { when: { user: 'first|second' }, answer: say('yes') },
        ...REFUSALS.map(([message, status, code], at) => ({
          times: 1,
          when: { user: `^third ${at}$` },
          answer: { error: { status, message, ...(code === undefined ? {} : { code }) } },
        })),
        { answer: say('now it fits') },
      ],
    },
  })
  stage.start()
  let done = 0
  for (const [at] of REFUSALS.entries()) {
    await stage.send(`/clear`)
    await stage.next('session.complete', ++done)
    for (const content of [`first ${long('fact')}`, `second ${long('fact')}`, `third ${at}`]) {
      await stage.send(content)
      await stage.next('session.complete', ++done)
    }
  }
  const compactions = (await stage.events()).filter(event => event.type === 'context.compact')
  expect(compactions.filter(event => event.data.reason === 'overflow').length).toBe(REFUSALS.length)
})

test.each([
  ['a refusal that names no cause, for a short conversation', { status: 400, message: 'Bad Request' }],
  [
    'a tool whose description is too long',
    {
      status: 400,
      message: "Invalid 'tools[0].function.description': string too long.",
      code: 'string_above_max_length',
    },
  ],
])('%s fails the session without a compaction', async (what, error) => {
  await using stage = await setStage({
    scenario: { rules: [{ when: { user: 'first' }, answer: say('yes') }, { answer: { error } }] },
  })
  stage.start()
  await stage.send(`first ${what.startsWith('a tool') ? long('fact') : ''}`)
  await stage.next('session.complete')
  await stage.send('second')
  expect((await stage.next('session.fail')).data).toMatchObject({ error_category: 'provider_error' })
  expect(typesOf(await stage.events())).not.toContain('context.compact')
})

test('a request that is still too long after the compaction fails the session with context_overflow', async () => {
  await using stage = await setStage({ scenario: { rules: [summary, { answer: tooLong }] } })
  stage.start()
  await stage.send('first')
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'context_overflow',
    retryable: false,
  })
  expect(typesOf(await stage.events())).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'context.compact',
    'llm.request',
    'session.fail',
  ])
})

test.each([
  ['fails', { error: { status: 500, message: 'no memory today' } }],
  ['answers with nothing', { empty: true as const }],
])(
  'when the summary model %s, the conversation is shortened by rule and the turn continues',
  async (_, answer) => {
    await using stage = await setStage({
      scenario: {
        rules: [
          { when: { system: SUMMARISES }, answer },
          { times: 1, answer: tooLong },
          { answer: say('going on') },
        ],
      },
    })
    stage.start()
    await stage.send('remember the fence')
    await stage.next('session.complete')
    const events = await stage.events()
    const compact = events.find(event => event.type === 'context.compact')
    expect(compact?.data.truncated).toBe(true)
    expect(JSON.stringify(compact?.data.compacted_messages)).toContain('remember the fence')
    expect(checkHistory(events, { settled: true })).toEqual([])
  },
)

test('/compress summarizes the conversation and reports the size, and the next request starts with the summary', async () => {
  await using stage = await setStage({ scenario: { rules: [summary, { answer: say('noted') }] } })
  stage.start()
  await stage.send('/compress')
  await stage.next('session.complete')
  for (let message = 0; message < 5; message++) {
    await stage.send(`fact ${message}`)
    await stage.next('session.complete', message + 2)
  }
  await stage.send('/compress')
  await stage.next('session.complete', 7)
  await stage.send('and now')
  await stage.next('session.complete', 8)
  const events = await stage.events()
  const replies = events.flatMap(event =>
    event.type === 'llm.response' && event.data.finish_reason === 'command'
      ? [event.data.message.content]
      : [],
  )
  expect(replies).toEqual([
    'There is not enough to summarize yet.',
    expect.stringMatching(/^Summarized: 10 messages became \d\./),
  ])
  expect(events.filter(event => event.type === 'context.compact').map(event => event.data.reason)).toEqual([
    'command',
  ])
  const last = stage.server.requests.at(-1)!.body.messages
  expect(last[1]).toMatchObject({
    role: 'user',
    content: '[Summary of the conversation so far]\nWhat went before.',
  })
  expect(last.at(-1)).toMatchObject({ content: 'and now' })
  expect(JSON.stringify(last)).not.toContain('fact 0')
  expect(checkHistory(events, { settled: true })).toEqual([])
})

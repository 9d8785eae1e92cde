/**
 * What model servers refuse, on running sessions: the turn continues, the next one is not refused, and the
 * log states what was learned.
 */
import { addMessage } from '@cairn/sessions'
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { alice, setStage, type Stage, type StageOptions } from './stage.ts'
import { rejection, type SentBody, startStrictServer, type StrictModelServer } from './strict-model-server.ts'

type Json = Record<string, unknown>

const stageOn = (server: StrictModelServer, options: Partial<StageOptions> = {}): Promise<Stage> =>
  setStage({
    scenario: { rules: [{ answer: { text: 'not asked' } }] },
    config: {
      models: { default: 'strict/m', providers: { strict: { kind: 'openai', base_url: server.url } } },
    },
    ...options,
  })

const called = (name: string, args: string, more: Json = {}): Json => ({
  tool_calls: [{ index: 0, id: 'call1', function: { name, arguments: args }, ...more }],
})
const learnedIn = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'llm.request' ? (event.data.learned ?? []) : []))

/** Sends messages one after the other; each turn must complete. */
async function talk(stage: Stage, ...messages: string[]): Promise<SessionEvent[]> {
  stage.start()
  for (const [index, message] of messages.entries()) {
    await stage.send(message)
    await completed(stage, index + 1)
  }
  return stage.events()
}

/** Waits for the nth end of a turn; no turn may fail. */
async function completed(stage: Stage, nth = 1): Promise<void> {
  const events = await stage.until(log => {
    const ends = log.filter(({ type }) => type === 'session.complete' || type === 'session.fail')
    return ends.length >= nth
  })
  expect(events.filter(({ type }) => type === 'session.fail').map(({ data }) => data)).toEqual([])
}

const callsOf = ({ messages }: SentBody) => messages.flatMap(message => message.tool_calls ?? [])
const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
const onlyObjects = (body: SentBody) =>
  callsOf(body).every(call => isObject(call.function.arguments))
    ? null
    : rejection('Invalid function arguments: must be a JSON object')

/** Promise 7.15: A call whose arguments can mean only one thing runs, and others do not end the session. */
test.each([
  ['cut off', '{"value": "cd /x && git commit -m \\"port', null],
  ['an array', '[1]', null],
  ['two different objects', '{"value":"a"}{"value":"b"}', null],
  ['with raw newlines and tabs', '{"value": "a\n\tb"}', 'a\n\tb'],
  ['sent twice', '{"value": "a"}{"value": "a"}', 'a'],
  ['after an empty object', '{}{"value": "a"}', 'a'],
  ['encoded twice', '"{\\"value\\":\\"a\\"}"', 'a'],
])(
  'arguments that are %s do not end the session, and run if their meaning is certain',
  async (_, args, value) => {
    await using server = await startStrictServer([called('note', args)], onlyObjects)
    await using stage = await stageOn(server)
    const events = await talk(stage, 'go', 'again')
    expect(stage.ran).toEqual(value === null ? [] : [`note:${value}`])
    expect(events.find(event => event.type === 'tool.call')?.data.arguments).toEqual(
      value === null ? {} : { value },
    )
    expect(
      events.find(event => event.type === 'llm.response')?.data.message.tool_calls?.[0]?.function.arguments,
    ).toBe(args)
    expect(server.rejected).toEqual([])
  },
)

const strictNames = (body: SentBody) =>
  callsOf(body).every(call => /^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name))
    ? null
    : rejection("Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern.")

test.each([
  [' look', true],
  ['"look"', true],
  ['Look', true],
  ['functions.look:0', true],
  ['look<|channel|>commentary', true],
  ['no such tool!', false],
  ['', false],
])('a call of the tool %j is accepted back by the server', async (name, runs) => {
  // An empty name is not a call for any server; blanks are one.
  await using server = await startStrictServer(
    [called(name === '' ? '  ' : name, '{"value": "a"}')],
    strictNames,
  )
  await using stage = await stageOn(server)
  const events = await talk(stage, 'go', 'again')
  expect(stage.ran).toEqual(runs ? ['look:a'] : [])
  if (runs) expect(events.find(event => event.type === 'tool.call')?.data.name).toBe('look')
  if (runs) expect(events.find(event => event.type === 'tool.result')?.data.name).toBe('look')
  expect(server.rejected).toEqual([])
})

const image = { mime_type: 'image/png', data: 'iVBORw0KGgo=' } as const
const hasImage = ({ messages }: SentBody): boolean => JSON.stringify(messages).includes('image_url')

test.each([
  ['messages[1]: unknown variant `image_url`, expected `text`', 400],
  ['No endpoints found that support image input', 404],
  ['image input is not supported - hint: you may need to provide the mmproj', 500],
  ['This model does not support images. Please use a model that does.', 400],
])('a picture that is refused with %j is replaced by a text', async (message, status) => {
  await using server = await startStrictServer([], body =>
    hasImage(body) ? rejection(message, {}, status) : null,
  )
  await using stage = await stageOn(server)
  stage.start()
  await addMessage(stage.deps, {
    session_id: stage.session_id,
    content: 'look',
    principal: alice,
    images: [image],
  })
  await completed(stage)
  await stage.send('and now?')
  await completed(stage, 2)
  expect(server.rejected).toHaveLength(1)
  expect(JSON.stringify(server.sent.at(-1))).toContain('this model does not accept images')
  expect(learnedIn(await stage.events())).toMatchObject([{ fact: 'vision', value: false }])
})

test('one picture that a server cannot read is left out, and later ones are shown', async () => {
  const bad = { ...image, data: 'AAAA' }
  await using server = await startStrictServer([], body =>
    JSON.stringify(body).includes('AAAA') ? rejection('Could not process image') : null,
  )
  await using stage = await stageOn(server)
  stage.start()
  await addMessage(stage.deps, {
    session_id: stage.session_id,
    content: 'look',
    principal: alice,
    images: [bad],
  })
  await completed(stage)
  await addMessage(stage.deps, {
    session_id: stage.session_id,
    content: 'this',
    principal: alice,
    images: [image],
  })
  await completed(stage, 2)
  expect(server.rejected).toHaveLength(1)
  expect(hasImage(server.sent.at(-1)!)).toBe(true)
})

test('the catalogue states that a model does not accept images', async () => {
  await using server = await startStrictServer([], body => (hasImage(body) ? rejection('no images') : null))
  await using stage = await stageOn(server, {
    config: {
      models: {
        default: 'strict/m',
        providers: { strict: { kind: 'openai', base_url: server.url } },
        catalog: { 'strict/m': { server: { vision: false } } },
      },
    },
  })
  stage.start()
  await addMessage(stage.deps, {
    session_id: stage.session_id,
    content: 'look',
    principal: alice,
    images: [image],
  })
  await completed(stage)
  expect(server.rejected).toEqual([])
})

const rolesOf = ({ messages }: SentBody): string[] => messages.map(({ role }) => role)
const userAfterTool = (body: SentBody) =>
  rolesOf(body).some((role, index, roles) => role === 'user' && roles[index - 1] === 'tool')
    ? {
        status: 400,
        body: {
          object: 'error',
          message: "Unexpected role 'user' after role 'tool'",
          type: 'invalid_request_message_order',
          param: null,
          code: '3230',
        },
      }
    : null
const mustAlternate = (message: string) => (body: SentBody) => {
  const counted = body.messages.filter(
    ({ role, tool_calls }) => role === 'user' || (role === 'assistant' && !tool_calls),
  )
  return counted.every(({ role }, index) => (role === 'user') === (index % 2 === 0))
    ? null
    : rejection(message)
}

test.each([
  ['by Mistral', userAfterTool],
  [
    'by a chat template',
    mustAlternate('Conversation roles must alternate user/assistant/user/assistant/...'),
  ],
  [
    'by a gateway',
    mustAlternate(
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles',
    ),
  ],
])('a message that arrives while a tool runs is refused %s once only', async (_, check) => {
  const staged = Promise.withResolvers<Stage>()
  await using server = await startStrictServer([called('note', '{"value":"a"}')], check, async accepted => {
    if (accepted === 1) await (await staged.promise).send('and hurry')
  })
  await using stage = await stageOn(server)
  staged.resolve(stage)
  const events = await talk(stage, 'go', 'thanks')
  expect(server.rejected).toHaveLength(1)
  expect(JSON.stringify(server.sent.at(-1))).toContain('and hurry')
  expect(learnedIn(events)).toMatchObject([{ fact: 'strict_roles', value: true }])
})

test('two messages in a row are merged for a server that requires alternating roles', async () => {
  await using server = await startStrictServer([], mustAlternate('conversation roles must alternate'))
  await using stage = await stageOn(server)
  await stage.send('one')
  await stage.send('two')
  await talk(stage, 'three')
  expect(server.sent.at(-1)?.messages.at(-1)?.content).toBe('one\n\ntwo\n\nthree')
})

const SIGNATURE = { google: { thought_signature: 'SIG==' } }
const signatureOf = (call: Json | undefined): unknown =>
  ((call?.['extra_content'] as Json | undefined)?.['google'] as Json | undefined)?.['thought_signature']
const missingSignature = rejection('Function call is missing a thought_signature in functionCall parts.')

test('the thought signature of a call is sent back with it', async () => {
  const answer = called('look', '{"value":"a"}', { extra_content: SIGNATURE })
  await using server = await startStrictServer([answer], body =>
    callsOf(body).every(call => signatureOf(call) === 'SIG==') ? null : missingSignature,
  )
  await using stage = await stageOn(server)
  await talk(stage, 'go', 'again')
  expect(server.rejected).toEqual([])
  expect(callsOf(server.sent.at(-1)!)).toHaveLength(1)
})

test('any additional field of a call is sent back, also for the second call of an answer', async () => {
  const fields = { provider_specific_fields: { thought_signature: 'SIG==' } }
  const calls = ['a', 'b'].map((id, index) => ({
    index,
    id,
    function: { name: 'look', arguments: '{"value":"a"}' },
    ...(index === 1 ? fields : {}),
  }))
  await using server = await startStrictServer([{ tool_calls: calls }], () => null)
  await using stage = await stageOn(server)
  await talk(stage, 'go')
  expect(callsOf(server.sent.at(-1)!).map(call => call['provider_specific_fields'])).toEqual([
    undefined,
    fields.provider_specific_fields,
  ])
})

test('a call that was made without a signature gets one that the server accepts', async () => {
  await using server = await startStrictServer([called('look', '{"value":"a"}')], body =>
    callsOf(body).every(call => typeof signatureOf(call) === 'string') ? null : missingSignature,
  )
  await using stage = await stageOn(server)
  const events = await talk(stage, 'go', 'again')
  expect(server.rejected).toHaveLength(1)
  expect(learnedIn(events)).toMatchObject([{ fact: 'thought_signatures', value: true }])
})

const lacksReasoning = ({ messages }: SentBody): boolean =>
  messages.some(message => message.tool_calls && !message['reasoning_content'])

test.each([
  'The `reasoning_content` in the thinking mode must be passed back to the API.',
  'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  'Missing `reasoning_content` field in the assistant message at message index 2',
])('reasoning of earlier turns goes back to a server that answers %j', async message => {
  const answer = { ...called('look', '{"value":"a"}'), reasoning_content: 'hm' }
  await using server = await startStrictServer([answer], body =>
    lacksReasoning(body) ? rejection(message) : null,
  )
  await using stage = await stageOn(server)
  const events = await talk(stage, 'go', 'again', 'once more')
  expect(server.rejected).toHaveLength(1)
  expect(server.sent.at(-1)?.messages.find(one => one.tool_calls)?.['reasoning_content']).toBe('hm')
  expect(learnedIn(events)).toMatchObject([{ fact: 'keeps_reasoning', value: 'all' }])
})

test.each<[string, (body: SentBody) => boolean, ReturnType<typeof rejection>, Json]>([
  [
    'max_tokens is renamed',
    body => 'max_tokens' in body,
    rejection(
      "Unsupported parameter: 'max_tokens' is not supported with this model. " +
        "Use 'max_completion_tokens' instead.",
      {
        param: 'max_tokens',
        code: 'unsupported_parameter',
      },
    ),
    { max_completion_tokens: 4000, temperature: 0.5 },
  ],
  [
    'temperature is left out',
    body => 'temperature' in body,
    rejection(
      "Unsupported value: 'temperature' does not support 0.5 with this model. " +
        'Only the default (1) value is supported.',
      {
        param: 'temperature',
        code: 'unsupported_value',
      },
    ),
    { max_tokens: 4000 },
  ],
  [
    'stream_options is left out by the path of FastAPI',
    body => 'stream_options' in body,
    {
      status: 422,
      body: {
        detail: [
          { type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' },
        ],
      },
    },
    { max_tokens: 4000, temperature: 0.5 },
  ],
  [
    'max_tokens is lowered',
    body => Number(body['max_tokens']) > 2048,
    rejection(
      'max_tokens is too large: 4000. This model supports at most 2048 completion tokens, whereas you ' +
        'provided 4000.',
      {
        param: 'max_tokens',
        code: 'invalid_value',
      },
    ),
    { max_tokens: 2048, temperature: 0.5 },
  ],
  [
    'max_tokens is left out by a server that knows neither name',
    body => 'max_tokens' in body || 'max_completion_tokens' in body,
    rejection('Unrecognized request argument supplied: max_tokens, max_completion_tokens'),
    { temperature: 0.5 },
  ],
  [
    'stream is left out',
    body => 'stream' in body,
    rejection('This model does not support streaming.', { param: 'stream', code: 'unsupported_value' }),
    { max_tokens: 4000, temperature: 0.5 },
  ],
])('after a refusal %s', async (_, isRefused, refusal, expected) => {
  await using server = await startStrictServer([], body => (isRefused(body) ? refusal : null))
  await using stage = await stageOn(server, { agent: { max_tokens: 4000, temperature: 0.5 } })
  const events = await talk(stage, 'go', 'again')
  const { temperature, max_tokens, max_completion_tokens } = server.sent.at(-1)!
  expect(JSON.parse(JSON.stringify({ temperature, max_tokens, max_completion_tokens }))).toEqual(expected)
  expect(learnedIn(events).length).toBeGreaterThan(0)
  // Two refusals at most: for a field under its two names.
  expect(server.rejected.length).toBeLessThanOrEqual(2)
})

const offers = (name: string) => (body: SentBody) =>
  body.tools?.some(tool => tool.function.name === name) === true

test.each([
  ["Invalid schema for function 'note': In context=('properties', 'value'), 'format' is wrong.", {}],
  [
    'Invalid tool definition',
    { param: 'tools[INDEX].function.parameters', code: 'invalid_function_parameters' },
  ],
  ['tools[INDEX].function: unsupported definition', {}],
])(
  'a tool that a refusal names is left out: %s',
  async (message, more: { param?: string; code?: string }) => {
    await using server = await startStrictServer([], body => {
      const index = body.tools?.findIndex(tool => tool.function.name === 'note') ?? -1
      const at = (text: string): string => text.replace('INDEX', String(index))
      return offers('note')(body)
        ? rejection(at(message), { ...more, ...(more.param ? { param: at(more.param) } : {}) })
        : null
    })
    await using stage = await stageOn(server)
    const events = await talk(stage, 'go', 'again')
    expect(server.rejected).toHaveLength(1)
    expect(offers('look')(server.sent.at(-1)!)).toBe(true)
    const requests = events.flatMap(event => (event.type === 'llm.request' ? [event.data] : []))
    expect(requests.map(({ omitted_tools }) => omitted_tools)).toEqual([undefined, ['note'], ['note']])
    expect(requests.map(({ learned }) => learned?.length)).toEqual([undefined, 1, undefined])
  },
)

test('a refusal is not retried again when it teaches nothing new', async () => {
  await using server = await startStrictServer([], () => rejection('temperature is not supported'))
  await using stage = await stageOn(server, { agent: { temperature: 0.5 } })
  stage.start()
  await stage.send('go')
  await stage.next('session.fail')
  expect(server.sent).toHaveLength(2)
})

test('a fact is stated once, also if the next attempt fails for another reason', async () => {
  let requests = 0
  await using server = await startStrictServer([], body => {
    requests++
    if ('temperature' in body) return rejection('temperature is not supported')
    return requests === 2 ? rejection('overloaded', {}, 503) : null
  })
  await using stage = await stageOn(server, { agent: { temperature: 0.5 }, limits: { llm_retries: 1 } })
  const events = await talk(stage, 'go')
  const stated = events.flatMap(event =>
    event.type === 'llm.request' ? [event.data.learned?.length ?? 0] : [],
  )
  expect(stated).toEqual([0, 1, 0])
})

test('a model whose key is missing fails the session with the variable to set', async () => {
  await using server = await startStrictServer([], () => null)
  await using stage = await stageOn(server, {
    config: {
      models: {
        default: 'strict/m',
        providers: { strict: { kind: 'openai', base_url: server.url, api_key_env: 'NO_SUCH_KEY' } },
      },
    },
  })
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'configuration',
    error: expect.stringContaining('NO_SUCH_KEY'),
  })
})

/** The scripted model, over real HTTP through the OpenAI code path. */
import { expect, test } from 'vitest'
import type { ModelMessage, ModelRequest } from '@cairn/models'
import type { ScenarioInput } from '../src/scenario.ts'
import { createScripted } from '../src/provider.ts'
import { ask, outcome } from '@cairn/models/test/wire-server'

const tool = (name: string) => ({ name, description: '', parameters: { type: 'object' } })
const called = (name: string, id: string, args: unknown, result: string): ModelMessage[] => [
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
  },
  { role: 'tool', tool_call_id: id, content: result },
]
const user = (content: string): ModelMessage => ({ role: 'user', content })

async function answers(scenario: ScenarioInput, ...requests: ModelRequest[]) {
  const scripted = await createScripted(scenario)
  try {
    const got: unknown[] = []
    for (const request of requests) {
      const result = await outcome(scripted, request)
      got.push('answer' in result ? result.answer : result)
    }
    return got as {
      message: {
        content: string
        tool_calls?: { id: string; function: { name: string; arguments: string } }[]
      }
      category?: string
    }[]
  } finally {
    await scripted.close()
  }
}
const texts = async (scenario: ScenarioInput, ...requests: ModelRequest[]) =>
  (await answers(scenario, ...requests)).map(got => got.message.content ?? got.category)

test('{{said}} has all user messages since the last answer', async () => {
  const rules: ScenarioInput['rules'] = [{ answer: { text: '{{said}} / {{user}}' } }]
  const found = called('get', 'c1', {}, 'found')
  expect(
    await texts(
      { rules },
      ask('one'),
      ask('', { messages: [user('one'), ...found, user('two'), user('three')] }),
      ask('', { messages: [user('one'), ...found] }),
    ),
  ).toEqual(['one / one', 'two\nthree / three', ' / one'])
})

test('the first matching rule answers and fills in values of the message and the results', async () => {
  const rules: ScenarioInput['rules'] = [
    { when: { user: 'my name is (\\w+)' }, answer: { text: 'Hello {{user.1}}, turn {{turn}}.' } },
    {
      when: { tool: 'get', result: 'found' },
      answer: { text: 'It says {{result.value.0}}; once {{result_of.get.value}}.' },
    },
    { when: { called: { tool: 'get', arguments: '"q": ?"no"' } }, answer: { text: 'never' } },
    { when: { called: 'get', turn: 2 }, answer: { text: 'As I said: {{result_of.get.value}}' } },
    { answer: { text: 'You said {{user:5}}' } },
  ]
  const found = called('get', 'c1', {}, '{"found":true,"value":["7"]}')
  expect(
    await texts(
      { rules },
      ask('Hi, MY NAME IS Ada'),
      ask('', { messages: [user('look'), ...found] }),
      ask('', { messages: [user('look'), ...found, user('again?')] }),
      ask('something else'),
    ),
  ).toEqual(['Hello Ada, turn 1.', 'It says 7; once ["7"].', 'As I said: ["7"]', 'You said somet…'])
})

test('steps follow each other within a turn, and then the rule no longer matches', async () => {
  const rules: ScenarioInput['rules'] = [
    { when: { user: 'go' }, steps: [{ tool_calls: [{ name: 'a' }] }, { text: 'half' }] },
    { answer: { text: 'over' } },
  ]
  const tools = [tool('a')]
  const first = called('a', 'c1', {}, 'r')
  const said: ModelMessage = { role: 'assistant', content: 'half' }
  expect(
    await texts(
      { rules },
      ask('go', { tools }),
      ask('', { tools, messages: [user('go'), ...first] }),
      ask('', { tools, messages: [user('go'), ...first, said] }),
      ask('', { tools, messages: [user('go'), ...first, said, user('go')] }),
    ),
  ).toEqual(['', 'half', 'over', ''])
})

test('skips a step whose tools are not offered, and a step for conversations without its tools', async () => {
  const steps = [
    { text: 'with', needs: ['a', 'b'] },
    { text: 'without', without: ['a', 'b'] },
    { text: 'then' },
  ]
  // A conversation that ends with an answer would get a user message: some servers require one.
  const said: ModelMessage[] = [
    {
      role: 'assistant',
      content: 'said',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'a', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  ]
  for (const [names, first] of [
    [['a', 'b', 'c'], 'with'],
    [['a', 'c'], 'without'],
    [[], 'without'],
  ] as const) {
    const tools = names.map(tool)
    const messages = [user('go'), ...said]
    expect(await texts({ rules: [{ steps }] }, ask('go', { tools }), ask('', { tools, messages }))).toEqual([
      first,
      'then',
    ])
  }
})

test('tool calls have filled or raw arguments or repeat a past call, and their ids differ', async () => {
  const rules: ScenarioInput['rules'] = [
    { when: { user: 'retry' }, answer: { tool_calls: [{ repeat: 'terminal' }] } },
    {
      answer: {
        tool_calls: [
          { name: 'write_file', arguments: { path: 'a.txt', lines: ['{{user}}', 1, true, null] } },
          { name: 'x', raw_arguments: '{oops' },
        ],
      },
    },
  ]
  const tools = [tool('terminal'), tool('write_file')]
  const [made, retried] = await answers(
    { rules },
    ask('hi "there"', { tools }),
    ask('', {
      tools,
      messages: [user('a'), ...called('terminal', 'c1', { command: 'date  +%s' }, 'blocked'), user('retry')],
    }),
  )
  expect(made?.message.tool_calls?.map(call => call.function)).toEqual([
    { name: 'write_file', arguments: '{"path":"a.txt","lines":["hi \\"there\\"",1,true,null]}' },
    { name: 'x', arguments: '{oops' },
  ])
  expect(retried?.message.tool_calls?.map(call => call.function)).toEqual([
    { name: 'terminal', arguments: '{"command":"date  +%s"}' },
  ])
  const ids = [...(made?.message.tool_calls ?? []), ...(retried?.message.tool_calls ?? [])].map(
    call => call.id,
  )
  expect(new Set([...ids, 'c1']).size).toBe(4)
})

test('answers the same conversation with the same bytes', async () => {
  const rules: ScenarioInput['rules'] = [
    { answer: { reasoning: 'hm', text: 'x', tool_calls: [{ name: 'a' }] } },
  ]
  const [one, two] = await answers(
    { rules },
    ask('q', { tools: [tool('a')] }),
    ask('q', { tools: [tool('a')] }),
  )
  expect(one).toEqual(two)
})

test('rules can select calls without tools or with a schema, and a schema without a rule gets a minimal answer', async () => {
  const rules: ScenarioInput['rules'] = [
    { when: { schema: 'verdict', user: 'good' }, answer: { json: { result: 'satisfied', why: '{{user}}' } } },
    { answer: { tool_calls: [{ name: 'a' }] } },
    { when: { system: 'title', tools_disabled: true }, answer: { text: 'A title for {{user}}' } },
    { answer: { text: 'plain' } },
  ]
  const json_schema = {
    name: 'verdict',
    schema: {
      type: 'object',
      properties: {
        result: { enum: ['needs_revision', 'satisfied'] },
        why: { type: 'string' },
        score: { type: 'integer', minimum: 1 },
        list: { type: 'array', items: {} },
      },
      required: ['result', 'why', 'score', 'list'],
    },
  }
  expect(
    await texts(
      { rules },
      ask('all good', { json_schema }),
      ask('bad', { json_schema }),
      ask('', { messages: [{ role: 'system', content: 'Write a TITLE.' }, user('x')] }),
      ask('x'),
      ask('x', { tools: [tool('a')] }),
    ),
  ).toEqual([
    '{"result":"satisfied","why":"all good"}',
    '{"result":"needs_revision","why":"","score":1,"list":[]}',
    'A title for x',
    'plain',
    '',
  ])
})

test('a conversation without a matching rule is an error that describes it', async () => {
  const [got] = await answers(
    { name: 'mine', rules: [{ when: { user: 'never' }, answer: { text: 'x' } }] },
    ask('hello'),
  )
  expect(got).toMatchObject({
    category: 'provider_error',
    retryable: false,
    message: expect.stringContaining(
      'no rule of scenario "mine" matches: user message 1 "hello", step 0, ends with no tool result, 0 ' +
        'tools offered',
    ) as string,
  })
})

test('a rule with times applies that often: two failures, then success', async () => {
  const rules: ScenarioInput['rules'] = [
    { times: 2, answer: { error: { status: 429, message: 'slow down', headers: { 'retry-after': '3' } } } },
    { answer: { text: 'done' } },
  ]
  const scripted = await createScripted({ rules })
  const failures = []
  for (let attempt = 0; attempt < 2; attempt += 1)
    failures.push(
      await scripted
        .call(ask('a'), () => undefined, new AbortController().signal)
        .catch((error: unknown) => error),
    )
  expect(failures).toEqual([
    expect.objectContaining({ category: 'rate_limit', retryable: true, retryAfterMs: 3000 }),
    expect.objectContaining({ category: 'rate_limit' }),
  ])
  expect(await outcome(scripted, ask('a'))).toMatchObject({ answer: { message: { content: 'done' } } })
  await scripted.close()
})

test.each<[string, NonNullable<ScenarioInput['rules'][number]['answer']>, object]>([
  [
    'an error within the answer',
    { text: 'Half', error: { message: 'broke', code: 'server_error' } },
    { category: 'provider_error', retryable: true },
  ],
  ['a broken connection', { text: 'Half', cut_off: true }, { category: 'network', retryable: true }],
  [
    'an overlong context',
    { error: { status: 400, message: 'too long', code: 'context_length_exceeded' } },
    { category: 'context_overflow', retryable: false },
  ],
  [
    'an empty completion',
    { empty: true },
    { answer: { message: { role: 'assistant', content: '' }, finish_reason: 'stop' } },
  ],
  [
    'a told end and usage',
    {
      text: 'x',
      finish_reason: 'length',
      usage: { input_tokens: 5, output_tokens: 6, reasoning_tokens: 2, cache_read_tokens: 1 },
    },
    {
      answer: {
        finish_reason: 'length',
        usage: { input_tokens: 5, output_tokens: 6, reasoning_tokens: 2, cache_read_tokens: 1 },
      },
    },
  ],
])('a scenario can play %s', async (_, answer, expected) => {
  const scripted = await createScripted({ rules: [{ answer }] })
  expect(await outcome(scripted, ask('x'))).toMatchObject(expected)
  await scripted.close()
})

test('sends text and reasoning in chunks of whole characters, at the pace of the scenario', async () => {
  const scripted = await createScripted({
    pace_ms: 1,
    chunk_chars: 1,
    rules: [{ answer: { reasoning: 'ab', text: '🗼京!' } }],
  })
  const shown: string[] = []
  await scripted.call(
    ask('x'),
    chunk => {
      if (chunk.type !== 'alive') shown.push(`${chunk.type}:${chunk.text}`)
    },
    new AbortController().signal,
  )
  expect(shown).toEqual(['reasoning:a', 'reasoning:b', 'text:🗼', 'text:京', 'text:!'])
  await scripted.close()
})

test('records requests with the rule that answered, and drops the oldest', async () => {
  const scripted = await createScripted(
    { rules: [{ name: 'hello', when: { user: '^hi' }, answer: { text: 'x' } }, { answer: { text: 'y' } }] },
    { record: 2 },
  )
  for (const content of ['gone', 'hi', 'other']) await outcome(scripted, ask(content))
  await scripted.server.requested(3)
  expect(
    scripted.server.requests.map(request => [request.body.messages.at(-1)?.content, request.rule]),
  ).toEqual([
    ['hi', 'hello'],
    ['other', 'rules[1]'],
  ])
  expect(await scripted.server.requests[0]?.ended).toBe('answered')
  await scripted.close()
})

test('an abort closes the socket at once and rejects with its reason, in any phase of the answer', async () => {
  for (const answer of [
    { hang: true },
    { text: 'And so on', hang: true },
    { text: 'late', delay_ms: 60_000 },
    { text: 'slow and steady', pace_ms: 60_000 },
  ] as const) {
    const scripted = await createScripted({ rules: [{ answer }] })
    const leaving = new AbortController()
    const started = Promise.withResolvers<void>()
    const call = scripted.call(ask('x'), () => started.resolve(), leaving.signal)
    await ('delay_ms' in answer ? scripted.server.requested(1) : started.promise)
    const reason = new Error('the user stopped the turn')
    leaving.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(await scripted.server.requests[0]?.ended).toBe('left')
    await scripted.close()
  }
})

test('a call that is aborted before its start sends nothing', async () => {
  const scripted = await createScripted({ rules: [{ answer: { text: 'x' } }] })
  const reason = new Error('too late')
  await expect(scripted.call(ask('x'), () => undefined, AbortSignal.abort(reason))).rejects.toBe(reason)
  expect(scripted.server.requests).toEqual([])
  await scripted.close()
})

test('a server that has closed is a retryable network failure', async () => {
  const scripted = await createScripted({ rules: [{ answer: { text: 'x' } }] })
  await scripted.server.close()
  expect(await outcome(scripted, ask('x'))).toMatchObject({ category: 'network', retryable: true })
  await scripted.close()
})

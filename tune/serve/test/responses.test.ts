/** /v1/responses as the OpenAI client sees it. */
import OpenAI from 'openai'
import { afterAll, expect, test } from 'vitest'
import { openFixture } from './server-fixture.ts'

/** The template lists tools and writes calls in tags, as Qwen3 does. */
const template = `{%- if tools %}{{-
  '<|im_start|>system\\n' ~ (tools | tojson) ~ '<|im_end|>\\n'
}}{%- endif %}
{%- for message in messages %}{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content }}
{%- for call in message.tool_calls or [] %}{{-
  '<tool_call>' ~ call.function.name ~ (call.function.arguments | tojson) ~ '</tool_call>'
}}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`
const server = await openFixture({ maxModelLen: 2048 }, { 'chat_template.jinja': template })
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
afterAll(() => server.close())

const greedy = { model: 'base', temperature: 0, max_output_tokens: 12 } as const
const find = {
  type: 'function',
  name: 'find',
  description: 'Finds.',
  strict: true,
  parameters: { type: 'object', properties: { q: { enum: ['a', 'b'] } }, required: ['q'] },
} as const

test('a response has the same answer and token counts as a chat of the same conversation', async () => {
  const chat = await client.chat.completions.create({
    model: 'base',
    temperature: 0,
    max_completion_tokens: 12,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Salut!' },
    ],
  })
  const response = await client.responses.create({ ...greedy, instructions: 'Be brief.', input: 'Salut!' })
  expect(response.output_text).toBe(chat.choices[0]?.message.content)
  expect(response.usage).toMatchObject({
    input_tokens: chat.usage?.prompt_tokens,
    output_tokens: chat.usage?.completion_tokens,
    total_tokens: chat.usage?.total_tokens,
  })
  expect(response).toMatchObject({ object: 'response', model: 'base', store: false, error: null })
  const isCut = chat.choices[0]?.finish_reason === 'length'
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
})

/** Promise T6.4: The Responses API works with the OpenAI client: text, streams, tool calls and forms. */
test('a stream sends every event in order and ends with the whole response', async () => {
  const whole = await client.responses.create({ ...greedy, input: 'Ana are mere' })
  const events = []
  for await (const event of await client.responses.create({ ...greedy, input: 'Ana are mere', stream: true }))
    events.push(event)
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i))
  const types = events.map(({ type }) => type)
  expect(types.slice(0, 4)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
  ])
  const text = events.map(event => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
  expect(text).toBe(whole.output_text)
  const last = events.at(-1)
  if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') throw new Error(last?.type)
  expect(last.response.output).toMatchObject([{ type: 'message', content: [{ type: 'output_text', text }] }])
})

test('a required call is an output item, also in a stream, and its result continues the conversation', async () => {
  const asked = {
    ...greedy,
    max_output_tokens: 200,
    input: 'q?',
    tools: [find],
    tool_choice: 'required' as const,
  }
  const stream = client.responses.stream(asked)
  const response = await stream.finalResponse()
  const call = response.output.find(item => item.type === 'function_call')
  if (!call) throw new Error('there is no call')
  expect(call.name).toBe('find')
  expect(['a', 'b']).toContain((JSON.parse(call.arguments) as { q: string }).q)
  const next = await client.responses.create({
    ...greedy,
    tools: [find],
    input: [
      { role: 'user', content: 'q?' },
      ...response.output.filter(item => item.type === 'function_call'),
      { type: 'function_call_output', call_id: call.call_id, output: 'found' },
    ],
  })
  expect(next.usage?.input_tokens).toBeGreaterThan(response.usage?.input_tokens ?? Infinity)
})

test('an answer has the form of text.format', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const { output_text: text } = await client.responses.create({
    ...greedy,
    max_output_tokens: 60,
    input: 'n?',
    text: { format: { type: 'json_schema', name: 'number', schema } },
  })
  expect(Object.keys(JSON.parse(text) as object)).toEqual(['n'])
})

test.each([
  [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  [{ store: true }, 'store'],
  [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input'],
  [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input'],
  [{ tools: [{ type: 'web_search' }] }, 'tools.0.type'],
])('rejects %j by name', async (changes, param) => {
  const { status, body } = await server.post('/v1/responses', { model: 'base', input: 'q', ...changes })
  expect([status, (body as { error: { param: string } }).error.param]).toEqual([400, param])
})

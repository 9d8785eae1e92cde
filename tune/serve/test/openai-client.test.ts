/**
 * The server used through the OpenAI client: replies, streams, tools, disconnects, and errors as the client's
 * classes.
 */
import OpenAI from 'openai'
import { afterAll, expect, test } from 'vitest'
import { openFixture } from './server-fixture.ts'

/** A small template that writes tools and calls as Qwen3 does. */
const template = `{%- if tools %}{{-
  '<|im_start|>system\\n' ~ (tools | tojson) ~ '<|im_end|>\\n'
}}{%- endif %}
{%- for message in messages %}{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content }}
{%- for call in message.tool_calls or [] %}{{-
  '<tool_call>' ~ call.function.name ~ (call.function.arguments | tojson) ~ '</tool_call>'
}}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`

const server = await openFixture({ maxModelLen: 4096 }, { 'chat_template.jinja': template })
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
afterAll(() => server.close())

const greedy = { temperature: 0, max_tokens: 12 } as const
const messages = [{ role: 'user', content: 'Salut!' }] as const
const tools = [
  {
    type: 'function',
    function: {
      name: 'find',
      description: 'Finds.',
      parameters: { type: 'object', properties: { q: { type: 'string' } } },
    },
  },
] as const

test('lists the base with its adapters', async () => {
  const listed = []
  for await (const model of client.models.list()) listed.push(model)
  expect(listed.map(({ id }) => id)).toEqual(['base', 'wide', 'narrow'])
  expect((await client.models.retrieve('wide')).id).toBe('wide')
})

test.each(['base', 'wide'])('%s: a streamed completion adds up to the whole one', async model => {
  const whole = await client.completions.create({ model, prompt: 'Ana are mere', ...greedy, logprobs: 2 })
  const pieces = []
  for await (const piece of await client.completions.create({
    model,
    prompt: 'Ana are mere',
    ...greedy,
    logprobs: 2,
    stream: true,
    stream_options: { include_usage: true },
  }))
    pieces.push(piece)
  expect(
    pieces
      .flatMap(({ choices }) => choices)
      .map(({ text }) => text)
      .join(''),
  ).toBe(whole.choices[0]?.text)
  expect(
    pieces.flatMap(({ choices }) => choices.flatMap(({ logprobs }) => logprobs?.token_logprobs ?? [])),
  ).toEqual(whole.choices[0]?.logprobs?.token_logprobs)
  expect(pieces.at(-1)?.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 12, total_tokens: 24 })
  expect(pieces.length).toBeGreaterThan(4)
})

test.each([{}, { logprobs: 0 }])(
  'a stream starts with the echoed prompt once, even if the answer has no text (%j)',
  async more => {
    for (const answer of [
      { max_tokens: 0 },
      { max_tokens: 3 },
      { max_tokens: 3, logit_bias: { '2': 100 } },
    ]) {
      const texts = []
      for await (const { choices } of await client.completions.create({
        model: 'base',
        prompt: 'Ana',
        temperature: 0,
        echo: true,
        ...more,
        ...answer,
        stream: true,
      }))
        texts.push(choices[0]?.text)
      expect(texts[0]).toBe('Ana')
      const whole = await client.completions.create({
        model: 'base',
        prompt: 'Ana',
        temperature: 0,
        echo: true,
        ...more,
        ...answer,
      })
      expect(texts.join('')).toBe(whole.choices[0]?.text)
    }
  },
)

test('usage is in the last chunk, or in every chunk on request', async () => {
  const request = {
    model: 'base',
    messages: [...messages],
    ...greedy,
    logit_bias: { '2': -100 },
    n: 2,
    stream: true,
  } as const
  const usages = async (stream_options: object) => {
    const found = []
    for await (const { choices, usage } of await client.chat.completions.create({
      ...request,
      messages: [...messages],
      stream_options,
    }))
      found.push({ isLast: choices.length === 0, usage })
    return found
  }
  const plain = await usages({ include_usage: true })
  expect(plain.slice(0, -1).every(({ isLast, usage }) => !isLast && usage === null)).toBe(true)
  const last = plain.at(-1)?.usage
  expect(last).toMatchObject({ completion_tokens: 24 })
  // Both choices share the prompt; its tokens that the second finds in the cache are not counted again.
  expect(last?.prompt_tokens_details?.cached_tokens).toBeLessThanOrEqual(last?.prompt_tokens ?? 0)
  const running = (await usages({ include_usage: true, continuous_usage_stats: true })).map(
    ({ usage }) => usage?.completion_tokens ?? NaN,
  )
  expect(running).toEqual(running.toSorted((a, b) => a - b))
  expect(running.at(-2)).toBe(24)
  expect(running[0]).toBe(0)
})

test('a streamed chat adds up to the whole one', async () => {
  const whole = await client.chat.completions.create({
    model: 'narrow',
    messages: [...messages],
    ...greedy,
    logprobs: true,
    top_logprobs: 3,
  })
  const stream = client.chat.completions.stream({
    model: 'narrow',
    messages: [...messages],
    ...greedy,
    logprobs: true,
    top_logprobs: 3,
  })
  const streamed = await stream.finalChatCompletion()
  expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
  expect(streamed.choices[0]?.logprobs?.content).toEqual(whole.choices[0]?.logprobs?.content)
  expect(whole.choices[0]?.logprobs?.content?.[0]?.top_logprobs.map(({ logprob }) => logprob)).toEqual(
    whole.choices[0]?.logprobs?.content?.[0]?.top_logprobs
      .map(({ logprob }) => logprob)
      .toSorted((a, b) => b - a),
  )
})

test('a required call is a tool call, streamed or whole', async () => {
  const request = {
    model: 'base',
    messages: [...messages],
    tools: [...tools],
    tool_choice: { type: 'function', function: { name: 'find' } },
    ...greedy,
  } as const
  const whole = await client.chat.completions.create({
    ...request,
    messages: [...messages],
    tools: [...tools],
  })
  const call = whole.choices[0]?.message.tool_calls?.[0]
  // A random model writes no JSON, so the text after the name becomes content again.
  const text = whole.choices[0]?.message.content
  expect(call ?? text).toBeDefined()
  // The opening brace of its arguments.
  const bias = { '126': 100 }
  const steered = await client.chat.completions.create({
    ...request,
    messages: [...messages],
    tools: [...tools],
    logit_bias: bias,
    max_tokens: 1,
  })
  expect(steered.choices[0]?.message.tool_calls?.[0]).toMatchObject({
    type: 'function',
    function: { name: 'find', arguments: '{' },
  })
  const streamed = await client.chat.completions
    .stream({ ...request, messages: [...messages], tools: [...tools], logit_bias: bias, max_tokens: 1 })
    .finalChatCompletion()
  expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
    type: 'function',
    function: { name: 'find', arguments: '{' },
  })
})

test('renders a conversation with calls and their results', async () => {
  const reply = await client.chat.completions.create({
    model: 'base',
    tools: [...tools],
    ...greedy,
    messages: [
      ...messages,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'nothing' }] },
    ],
  })
  expect(reply.usage?.prompt_tokens).toBeGreaterThan(200)
})

test('a client that disconnects ends its sequence', async () => {
  const long = { max_tokens: 4000, logit_bias: { 2: -100 } }
  const metric = async (name: string) =>
    Number(
      new RegExp(`^cairn_tune_${name} (.+)$`, 'm').exec(
        await (await fetch(`${server.url}/metrics`)).text(),
      )?.[1],
    )
  const aborted = await metric('requests_ended_total\\{reason="abort"\\}')
  const stream = await client.completions.create({ model: 'base', prompt: 'x', ...long, stream: true })
  for await (const _ of stream) break
  await expect.poll(() => metric('requests_ended_total\\{reason="abort"\\}')).toBe(aborted + 1)
  await expect.poll(() => metric('requests_running')).toBe(0)
  const gone = new AbortController()
  const whole = client.completions.create({ model: 'base', prompt: 'x', ...long }, { signal: gone.signal })
  await expect.poll(() => metric('requests_running')).toBe(1)
  gone.abort()
  await expect(whole).rejects.toThrow(OpenAI.APIUserAbortError)
  await expect.poll(() => metric('requests_running')).toBe(0)
})

test('n choices with a seed differ from each other and are reproducible', async () => {
  const ask = () =>
    client.completions.create({ model: 'base', prompt: 'x', max_tokens: 8, temperature: 1, seed: 5, n: 3 })
  const [one, two] = [await ask(), await ask()]
  expect(one.choices.map(({ text }) => text)).toEqual(two.choices.map(({ text }) => text))
  expect(new Set(one.choices.map(({ text }) => text)).size).toBe(3)
})

/** Promise T6: The OpenAI client recognises the server's errors. */
test('the client recognises the errors', async () => {
  const missing = await client.completions
    .create({ model: 'nobody', prompt: 'x' })
    .catch((error: unknown) => error)
  expect(missing).toBeInstanceOf(OpenAI.NotFoundError)
  expect(missing).toMatchObject({
    status: 404,
    param: 'model',
    type: 'NotFoundError',
    message: expect.stringContaining('The model `nobody` does not exist.'),
  })
  const tooLong = await client.completions
    .create({ model: 'base', prompt: 'x'.repeat(5000) })
    .catch((error: unknown) => error)
  expect(tooLong).toBeInstanceOf(OpenAI.BadRequestError)
  expect(tooLong).toMatchObject({
    message: expect.stringContaining("This model's maximum context length is 4096 tokens"),
  })
  const wrong = await client.completions
    .create({ model: 'base', prompt: 'x', temperature: -1 })
    .catch((error: unknown) => error)
  expect(wrong).toMatchObject({ status: 400, param: 'temperature' })
})

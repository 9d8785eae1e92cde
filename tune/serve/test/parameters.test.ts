/**
 * Every key that clients document is implemented or rejected, as the table says; implemented keys have their
 * effect.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadTokenizer } from '@cairn-tune/weights'
import { afterAll, expect, test } from 'vitest'
import { PARAMETERS } from '../src/parameters/tables.ts'
import { openFixture } from './server-fixture.ts'

const server = await openFixture()
const tokenizer = await loadTokenizer(`${server.directory}/base`)
afterAll(() => server.close())

type Choice = {
  text: string
  token_ids: number[]
  prompt_token_ids: number[]
  message: { content: string }
  logprobs: { tokens: string[]; content: { token: string }[] }
}
type Reply = { choices: Choice[]; prompt_token_ids: number[]; error: { message: string; param: string } }
const ask = async (path: string, body: object): Promise<{ status: number; body: Reply }> =>
  await server.post(path, body)

const messages = [{ role: 'user', content: 'Salut!' }]
const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } }
/** A valid request, to which each key is added. */
const sound: Record<string, object> = {
  '/v1/completions': { prompt: 'Ana', max_tokens: 2, temperature: 0 },
  '/v1/chat/completions': { messages, max_tokens: 2, temperature: 0 },
  '/v1/responses': { input: 'Salut!', max_output_tokens: 2, temperature: 0 },
  '/v1/load_lora_adapter': { lora_name: 'nobody', lora_path: '/nowhere' },
  '/v1/unload_lora_adapter': { lora_name: 'nobody' },
  '/tokenize': { prompt: 'Ana' },
  '/detokenize': { tokens: [1, 2] },
}
/** The value that a key is sent with; the default is `true`. */
const samples: Record<string, unknown> = {
  model: 'base',
  stream_options: { include_usage: true },
  n: 2,
  seed: 7,
  stop: ['x'],
  temperature: 0.5,
  top_p: 0.5,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  logit_bias: { 5: 1 },
  user: 'somebody',
  top_k: 3,
  min_p: 0.1,
  repetition_penalty: 1.1,
  stop_token_ids: [7],
  min_tokens: 1,
  allowed_token_ids: [5],
  bad_words: ['x'],
  truncate_prompt_tokens: 2,
  response_format: { type: 'json_object' },
  structured_outputs: { regex: 'a+' },
  best_of: 3,
  length_penalty: 2,
  spaces_between_special_tokens: false,
  priority: 1,
  prompt: 'Ana',
  max_tokens: 3,
  max_completion_tokens: 3,
  messages,
  top_logprobs: 2,
  tools: [tool],
  tool_choice: 'none',
  parallel_tool_calls: false,
  chat_template_kwargs: { enable_thinking: false },
  add_generation_prompt: false,
  add_special_tokens: false,
  include_reasoning: false,
  metadata: { a: 'b' },
  service_tier: 'auto',
  modalities: ['text', 'audio'],
  lora_name: 'nobody',
  lora_path: '/nowhere',
  tokens: [1],
}
/** Other keys that a key requires. */
const beside: Record<string, object> = {
  stream_options: { stream: true },
  top_logprobs: { logprobs: true },
  continue_final_message: {
    messages: [...messages, { role: 'assistant', content: 'Bu' }],
    add_generation_prompt: false,
    prompt: null,
  },
  tool_choice: { tools: [tool] },
  messages: { prompt: null },
  tools: { messages, prompt: null },
}
/** Other values of the same keys. */
const ofResponses: Record<string, unknown> = {
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Salut!' }] }],
  instructions: 'Be brief.',
  max_output_tokens: 3,
  tools: [{ type: 'function', name: 'find', parameters: { type: 'object' } }],
  text: { format: { type: 'text' } },
  truncation: 'auto',
  skip_special_tokens: false,
}
const sampleOf = (route: string, key: string): unknown =>
  route === '/v1/responses' && key in ofResponses
    ? ofResponses[key]
    : key === 'logprobs' && route === '/v1/completions'
      ? 2
      : (samples[key] ?? true)

const rows = Object.entries(PARAMETERS).flatMap(([route, table]) =>
  Object.entries(table).map(([key, row]) => [route, key, row] as const),
)

/** Promise T6.4: Every request key is implemented, or rejected by name with the reason. */
test.each(rows)('%s: implements %s, or rejects it by name with the reason', async (route, key, row) => {
  const { prompt: _, ...others } = { prompt: undefined, ...beside[key] }
  const extra = route === '/tokenize' ? { ...beside[key] } : route === '/v1/responses' ? {} : others
  const { status, body } = await ask(route, { ...sound[route], ...extra, [key]: sampleOf(route, key) })
  if ('refused' in row) {
    expect([status, body.error.param]).toEqual([400, key])
    expect(body.error.message).toContain(row.refused)
    for (const free of [null, ...(row.but ?? []).filter(value => value !== 'n')])
      expect((await ask(route, { ...sound[route], [key]: free })).body.error?.param, key).not.toBe(key)
  } else if (route.includes('adapter')) expect(status).toBe(404)
  else expect([status, body]).toEqual([200, expect.anything()])
})

test.each(Object.keys(PARAMETERS))('%s rejects an unknown key', async route => {
  const { status, body } = await ask(route, { ...sound[route], temprature: 1 })
  expect([status, body.error.param]).toEqual([400, 'temprature'])
})

const openai = fileURLToPath(import.meta.resolve('openai'))

test.each([
  ['/v1/completions', 'resources/completions.d.ts', 'CompletionCreateParamsBase'],
  ['/v1/chat/completions', 'resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase'],
  ['/v1/responses', 'resources/responses/responses.d.ts', 'ResponseCreateParamsBase'],
])('the table of %s has every key that the OpenAI client documents', (route, file, name) => {
  const text = readFileSync(new URL(file, `file://${openai}`), 'utf8')
  const start = text.indexOf(`interface ${name} {`)
  const body = text.slice(start, text.indexOf('\n}', start))
  const keys = [...body.matchAll(/^ {4}'?(\w+)'?\??:/gm)].map(([, key = '']) => key)
  expect(keys.length).toBeGreaterThan(15)
  expect(keys.filter(key => !Object.hasOwn(PARAMETERS[route] ?? {}, key))).toEqual([])
})

/** Keys of vLLM's request classes, as read by reference/make_vllm_keys.py. */
const { keys: VLLM } = JSON.parse(
  readFileSync(new URL('reference/vllm-keys.json', import.meta.url), 'utf8'),
) as { keys: Record<string, string[]> }

/** Promise T6.4: No request key of vLLM's server is ignored. */
test.each(Object.entries(VLLM))('the table of %s has every key that vLLM accepts', (route, keys) => {
  expect(keys.filter(key => !Object.hasOwn(PARAMETERS[route] ?? {}, key))).toEqual([])
})

test('the routes with a table are the routes of vLLM', () => {
  expect(Object.keys(VLLM).toSorted()).toEqual(Object.keys(PARAMETERS).toSorted())
})

const complete = async (body: object) =>
  (await ask('/v1/completions', { prompt: 'Ana are', max_tokens: 8, temperature: 0, ...body })).body
    .choices[0]!
const chat = async (body: object) =>
  (await ask('/v1/chat/completions', { messages, max_tokens: 8, temperature: 0, ignore_eos: true, ...body }))
    .body

test('samples only allowed tokens and no bad words', async () => {
  const allowed = [70, 80, 90]
  for (const temperature of [0, 1]) {
    const { token_ids: ids } = await complete({
      allowed_token_ids: allowed,
      temperature,
      ignore_eos: true,
      return_token_ids: true,
    })
    expect(ids).toHaveLength(8)
    expect(ids.filter(id => !allowed.includes(id))).toEqual([])
  }
  // A byte is a token: only letters, so that texts can be compared.
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz', letter => tokenizer.encode(letter)[0] ?? 0)
  const free = await complete({ allowed_token_ids: letters })
  const word = free.text.slice(2, 4)
  const held = await complete({ allowed_token_ids: letters, bad_words: [word] })
  expect(held.text.slice(0, 3)).toBe(free.text.slice(0, 3))
  expect(held.text).not.toContain(word)
})

test('truncates a prompt to its last tokens and returns token ids, streamed or not', async () => {
  const { prompt_token_ids: ids } = await complete({ truncate_prompt_tokens: 3, return_token_ids: true })
  expect(tokenizer.decode(ids)).toBe('are')
  const whole = await chat({ return_token_ids: true })
  expect(whole.choices[0]?.token_ids).toHaveLength(8)
  expect(tokenizer.decode(whole.prompt_token_ids)).toContain('Salut!')
  for (const [path, extra] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/completions', { prompt: 'Ana are' }],
  ] as const) {
    const asked = { ...extra, max_tokens: 8, temperature: 0, return_token_ids: true, ignore_eos: true }
    const { body } = await server.post(path, { ...asked, stream: true })
    const events = String(body)
      .split('\n\n')
      .filter(line => line.startsWith('data: {'))
      .map(line => JSON.parse(line.slice(6)) as Reply)
    const alone = (await ask(path, asked)).body
    expect(events.flatMap(({ choices }) => choices[0]?.token_ids ?? [])).toEqual(alone.choices[0]?.token_ids)
    const prompts = events.flatMap(
      event => event.prompt_token_ids ?? event.choices[0]?.prompt_token_ids ?? [],
    )
    expect(prompts).toEqual(alone.prompt_token_ids ?? alone.choices[0]?.prompt_token_ids)
  }
})

test('log-probabilities name tokens by id on request', async () => {
  const { logprobs, token_ids: ids } = await complete({
    logprobs: 1,
    ignore_eos: true,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
  })
  expect(logprobs.tokens).toEqual(ids.map(id => `token_id:${id}`))
  const { choices } = await chat({ logprobs: true, return_token_ids: true, return_tokens_as_token_ids: true })
  expect(choices[0]?.logprobs.content.map(({ token }) => token)).toEqual(
    choices[0]?.token_ids.map(id => `token_id:${id}`),
  )
})

/** Promise T6.4: A request can continue the last message of a conversation. */
test('continues the last message, or adds no header, on request', async () => {
  const open = [...messages, { role: 'assistant', content: 'Bună' }]
  const text = async (body: object) =>
    tokenizer.decode((await chat({ return_token_ids: true, ...body })).prompt_token_ids)
  const goesOn = await text({ messages: open, continue_final_message: true, add_generation_prompt: false })
  expect(goesOn).toMatch(/Salut!<\|im_end\|>\n<\|im_start\|>assistant\nBună$/)
  expect(await text({ messages: open, add_generation_prompt: false })).toBe(`${goesOn}<|im_end|>\n`)
  expect(await text({ messages: open })).toBe(`${goesOn}<|im_end|>\n<|im_start|>assistant\n`)
  const both = await chat({ messages: open, continue_final_message: true })
  expect(both.error.message).toContain('Cannot set both `continue_final_message` and `add_generation_prompt`')
})

test('numbers of tools reach the template as written', async () => {
  const body = `{"messages": ${JSON.stringify(messages)}, "max_tokens": 1, "return_token_ids": true, "tools":
    [{"type": "function", "function": {"name": "f", "parameters": {"minimum": 1.0, "multipleOf": 1e-07}}}]}`
  const { body: reply } = (await server.post('/v1/chat/completions', body)) as { body: Reply }
  expect(tokenizer.decode(reply.prompt_token_ids)).toContain('{"minimum": 1.0, "multipleOf": 1e-07}')
})

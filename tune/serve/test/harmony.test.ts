/** A model with the tokens of the harmony format, over HTTP: calls, forms, and errors. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import { BYTE_VOCABULARY, byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import { MARKERS } from '../src/harmony/markers.ts'
import { writeRandomModel } from './random-model.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-harmony-'))
const TEMPLATE = `{%- for m in messages -%}
{%- if m.role == 'assistant' and m.tool_calls -%}
{%- if m.thinking -%}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{%- endif -%}
<|start|>assistant<|channel|>commentary to=functions.{{ m.tool_calls[0].function.name }} <|constrain|>json
{{- '<|message|>' ~ (m.tool_calls[0].function.arguments | tojson) }}<|call|>
{%- else -%}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>
{{- m.content }}{% if not loop.last or add_generation_prompt %}<|end|>{% endif %}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}
`

function harmonyFiles(): Record<string, string> {
  const files = byteTokenizerFiles()
  const tokenizer = JSON.parse(files['tokenizer.json'] ?? '{}') as { added_tokens: object[] }
  const [first] = tokenizer.added_tokens
  for (const [i, content] of Object.keys(MARKERS).entries())
    tokenizer.added_tokens.push({ ...first, id: BYTE_VOCABULARY + i, content })
  return { ...files, 'tokenizer.json': JSON.stringify(tokenizer), 'chat_template.jinja': TEMPLATE }
}

let server: RunningServer
let client: OpenAI
beforeAll(async () => {
  const model = join(directory, 'model')
  await writeRandomModel(model, 1, harmonyFiles())
  server = await startServer({ model, servedModelNames: ['base'], port: 0, threads: 1, maxModelLen: 1024 })
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
})
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true })
})

const tool = (name: string) =>
  ({
    type: 'function',
    function: {
      name,
      parameters: {
        type: 'object',
        properties: { city: { enum: ['Cluj', 'Iași'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
        required: ['city', 'days'],
        additionalProperties: false,
      },
    },
  }) as const
const asked = { model: 'base', messages: [{ role: 'user', content: 'weather?' }], seed: 3 } as const

test.each([1, 2, 3])(
  'a required call is a call of the requested tool, streamed or whole (seed %i)',
  async seed => {
    const request = {
      ...asked,
      seed,
      messages: [...asked.messages],
      tools: [tool('forecast'), tool('other')],
      tool_choice: { type: 'function', function: { name: 'forecast' } },
    } as const
    const whole = await client.chat.completions.create({
      ...request,
      messages: [...asked.messages],
      tools: [...request.tools],
    })
    const [choice] = whole.choices
    expect(choice?.finish_reason).toBe('tool_calls')
    const [call] = choice?.message.tool_calls ?? []
    if (call?.type !== 'function') throw new Error('no call')
    expect(call.function.name).toBe('forecast')
    const given = JSON.parse(call.function.arguments) as { city: string; days: number }
    expect(['Cluj', 'Iași']).toContain(given.city)
    const streamed = await client.chat.completions
      .stream({ ...request, messages: [...asked.messages], tools: [...request.tools] })
      .finalChatCompletion()
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: call.function })
  },
)

test('an answer with a form is the final message', async () => {
  const reply = await client.chat.completions.create({
    ...asked,
    messages: [...asked.messages],
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'n',
        schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      },
    },
  })
  const { message } = reply.choices[0] ?? {}
  expect(Number.isInteger((JSON.parse(message?.content ?? '') as { n: number }).n)).toBe(true)
  expect(message).not.toHaveProperty('reasoning_content')
})

test('rejects a required call with several tools, because a message header names one', async () => {
  const refused = client.chat.completions.create({
    ...asked,
    messages: [...asked.messages],
    tools: [tool('a'), tool('b')],
    tool_choice: 'required',
  })
  await expect(refused).rejects.toThrow('"required" with several tools is not supported')
})

test('calls and results of a request reach the template with one call per message', async () => {
  const made = (id: string, name: string) =>
    ({ id, type: 'function', function: { name, arguments: '{"city": "Cluj"}' } }) as const
  const response = await fetch(`${server.url}/tokenize`, {
    method: 'POST',
    body: JSON.stringify({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', reasoning_content: 'two', tool_calls: [made('1', 'f'), made('2', 'g')] },
        { role: 'tool', tool_call_id: '1', content: 'A' },
        { role: 'tool', tool_call_id: '2', content: 'B' },
      ],
      return_token_strs: true,
    }),
    headers: { 'content-type': 'application/json' },
  })
  const { token_strs: pieces } = (await response.json()) as { token_strs: string[] }
  const call = (name: string) =>
    `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>` +
    '{"city": "Cluj"}<|call|>'
  expect(pieces.join('')).toBe(
    '<|start|>user<|message|>hi<|end|><|start|>assistant<|channel|>analysis<|message|>two<|end|>' +
      `${call('f')}<|start|>tool<|message|>A<|end|>` +
      `${call('g')}<|start|>tool<|message|>B<|end|><|start|>assistant`,
  )
})

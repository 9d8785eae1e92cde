/** Answers always have the requested form: with random weights, at temperature 1, streamed or not. */
import { afterAll, expect, test } from 'vitest'
import { isValid, listSchemas, trySchema } from './schema-suite.ts'
import { openFixture } from './server-fixture.ts'

const server = await openFixture({ maxModelLen: 2048 })
afterAll(() => server.close())

type Call = { function: { name: string; arguments: string } }
type Choice = {
  text: string
  finish_reason: string
  message: { content: string | null; tool_calls?: Call[] }
  logprobs: { tokens: string[]; token_logprobs: number[] }
}
type Reply = { choices: Choice[]; error: { message: string; param: string } }

const ask = async (path: string, body: object): Promise<{ status: number; body: Reply }> =>
  await server.post(path, body)
const messages = [{ role: 'user', content: 'Salut!' }]
const complete = async (body: object) =>
  (await ask('/v1/completions', { prompt: 'Ana', max_tokens: 600, temperature: 1, seed: 5, ...body })).body
    .choices
const chat = async (body: object) =>
  (await ask('/v1/chat/completions', { messages, max_tokens: 600, temperature: 1, seed: 5, ...body })).body
    .choices

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 6 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
  },
  required: ['name', 'age'],
  additionalProperties: false,
}
const format = { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } }

/**
 * Promise T6.6: A finished answer always has the requested form, even with random weights at temperature 1.
 */
test('every finished answer validates against its schema of the published suite', async () => {
  const schemas = listSchemas()
  const verdicts = await Promise.all(schemas.map((one, i) => trySchema(server, one, i + 1)))
  const count = (wanted: string) => verdicts.filter(({ verdict }) => verdict === wanted)
  expect(count('wrong')).toEqual([])
  expect(count('valid').length).toBeGreaterThan(45)
  for (const { text } of count('refused')) expect(text).toMatch(/^400 structured_outputs: /)
  expect(count('refused').length).toBeLessThan(schemas.length / 2)
})

test('each kind of form is met in a batch with unconstrained sequences', async () => {
  const free = { seed: 11, max_tokens: 40, ignore_eos: true }
  const [alone] = await complete(free)
  const asked: [object, (text: string) => boolean][] = [
    [{ json: person }, text => isValid(person, text)],
    [{ json: JSON.stringify(person) }, text => isValid(person, text)],
    [{ regex: '[a-c]{2,5}-(x|yy)' }, text => /^[a-c]{2,5}-(x|yy)$/.test(text)],
    [{ choice: ['mere', 'pere', 'prună'] }, text => ['mere', 'pere', 'prună'].includes(text)],
    [
      { grammar: 'root ::= "(" root ")" | num # nested\nnum ::= [0-9]{1,3}' },
      text => /^(\(*)[0-9]{1,3}(\)*)$/.test(text) && text.split('(').length === text.split(')').length,
    ],
  ]
  const answers = await Promise.all([
    complete(free),
    ...asked.map(([structured_outputs]) => complete({ structured_outputs, n: 3 })),
    complete(free),
  ])
  expect([answers[0]?.[0]?.text, answers.at(-1)?.[0]?.text]).toEqual([alone?.text, alone?.text])
  for (const [i, [what, fits]] of asked.entries()) {
    const choices = answers[i + 1] ?? []
    expect(choices).toHaveLength(3)
    for (const { text, finish_reason: end } of choices)
      expect([what, text, end === 'length' || fits(text)]).toEqual([what, text, true])
  }
  for (const { message } of await chat({
    response_format: { type: 'json_object' },
    max_tokens: 220,
    n: 4,
    seed: 3,
  }))
    expect(message.content).toMatch(/^\{/)
  for (const { message } of await chat({ response_format: format, n: 4 }))
    expect(isValid(person, message.content ?? '')).toBe(true)
})

test('an answer keeps its form when streamed, greedy, stopped, biased, or with log-probabilities', async () => {
  const { body } = await server.post('/v1/chat/completions', {
    messages,
    stream: true,
    response_format: format,
    max_tokens: 600,
    seed: 5,
  })
  const text = String(body)
    .split('\n\n')
    .filter(line => line.startsWith('data: {'))
    .map(
      line => (JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta,
    )
    .map(delta => delta?.content ?? '')
    .join('')
  expect(isValid(person, text)).toBe(true)
  const outputs = { structured_outputs: { json: person } }
  for (const extra of [
    { temperature: 0, max_tokens: 220 },
    { logprobs: 2 },
    { top_k: 1 },
    { top_p: 0.1, min_p: 0.5 },
    { allowed_token_ids: [5] },
    { logit_bias: { 70: 100 }, presence_penalty: 2, repetition_penalty: 1.5 },
    { min_tokens: 30 },
  ])
    for (const choice of await complete({ ...outputs, ...extra })) {
      if (choice.finish_reason === 'stop')
        expect([extra, isValid(person, choice.text)]).toEqual([extra, true])
      if ('logprobs' in extra) {
        expect(choice.logprobs.tokens.length).toBeGreaterThan(10)
        expect(choice.logprobs.token_logprobs.every(one => one <= 0 && Number.isFinite(one))).toBe(true)
      }
    }
  const [stopped] = await complete({ ...outputs, stop: ['"age"'] })
  expect(stopped?.text).toMatch(/^\{\s*"name"\s*:\s*"[\s\S]*"\s*,\s*$/)
})

/** Promise T6.6: A required tool call is always a valid call of one of the request's tools. */
test('a required call is always a valid call of one of the tools', async () => {
  const weather = {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 5 }, days: { type: 'integer', minimum: 1, maximum: 9 } },
    required: ['city', 'days'],
  }
  const tools = [
    { type: 'function', function: { name: 'weather', parameters: weather } },
    { type: 'function', function: { name: 'now' } },
  ]
  const callsOf = (choices: Choice[]) => choices.flatMap(({ message }) => message.tool_calls ?? [])
  const required = await chat({ tools, tool_choice: 'required', n: 12 })
  for (const { finish_reason: end, message } of required.filter(one => one.finish_reason !== 'length')) {
    expect([end, message.content]).toEqual(['tool_calls', null])
    expect(message.tool_calls?.length).toBeGreaterThan(0)
  }
  const named = await chat({
    tools,
    tool_choice: { type: 'function', function: { name: 'weather' } },
    n: 8,
  })
  expect(named.map(({ message }) => message.tool_calls?.length)).toEqual(Array.from({ length: 8 }, () => 1))
  const whole = required.filter(({ finish_reason: end }) => end === 'tool_calls')
  expect(whole.length).toBeGreaterThan(0)
  for (const { function: called } of [...callsOf(whole), ...callsOf(named)]) {
    expect(['weather', 'now']).toContain(called.name)
    if (called.name === 'weather') expect(isValid(weather, called.arguments)).toBe(true)
    else expect(JSON.parse(called.arguments)).toBeTypeOf('object')
  }
})

/** Promise T6.6: A request can allow at most one call. */
test('a required call cut by max_tokens gives no text, and parallel_tool_calls limits calls', async () => {
  const one = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }
  const asked = { tools: [one], tool_choice: 'required' }
  for (const max_tokens of [1, 4, 12, 25, 60, 90])
    for (const { finish_reason: end, message } of await chat({ ...asked, max_tokens, n: 4 })) {
      const calls = message.tool_calls ?? []
      expect([max_tokens, message.content]).toEqual([max_tokens, calls.length > 0 ? null : ''])
      expect(calls.every(({ function: { name } }) => name === 'get_weather')).toBe(true)
      expect(end).toBe(calls.length > 0 && end !== 'length' ? 'tool_calls' : 'length')
    }
  const several = {
    ...asked,
    tools: [{ type: 'function', function: { name: 'now', parameters: empty } }],
    n: 8,
  }
  const counts = async (extra: object) =>
    (await chat({ ...several, ...extra })).map(({ message }) => message.tool_calls?.length)
  expect(Math.max(...(await counts({})).map(count => count ?? 0))).toBeGreaterThan(1)
  expect(await counts({ parallel_tool_calls: false })).toEqual(Array.from({ length: 8 }, () => 1))
})
const empty = { type: 'object', additionalProperties: false }

test("numbers of a call match the tool's schema, whatever the number's notation", async () => {
  const schema =
    '{"type": "object", "properties": {"share": {"type": "number", "minimum": 0.0, "maximum": 1e0},' +
    ' "id": {"enum": [12345678901234567890]}, "half": {"const": 0.50}, "one": {"const": 1.0}},' +
    ' "required": ["share", "id", "half", "one"]}'
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body:
      `{"messages": ${JSON.stringify(messages)}, "max_tokens": 600, "seed": 5, "tool_choice": "required",` +
      ` "tools": [{"type": "function", "function": {"name": "f", "parameters": ${schema}}}]}`,
  })
  const { choices } = (await response.json()) as Reply
  const text = choices[0]?.message.tool_calls?.[0]?.function.arguments ?? ''
  expect([response.status, text]).toEqual([200, expect.stringMatching(/"id"\s*:\s*12345678901234567890\s*,/)])
  expect(JSON.parse(text)).toMatchObject({ half: 0.5, one: 1 })
})

/** Promise T6.6: An impossible form is rejected with the impossible part. */
test.each([
  [{ json: { type: 'strng' } }, /unknown type "strng"; known: null, boolean/],
  [{ json: { type: 'string', maxLenght: 3 } }, /"maxLenght" is not a schema keyword/],
  [{ json: { not: {} } }, /keyword not is not supported/],
  [{ json: { $ref: '#/nowhere' } }, /does not point to a schema/],
  [{ json: { $ref: '#' } }, /points back to itself/],
  [{ json: { type: 'integer', minimum: 3, maximum: 2 } }, /no finite text/],
  [{ json: { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] } }, /no finite text/],
  [{ json: { oneOf: [{ type: 'number' }, { type: 'integer' }] } }, /oneOf may overlap/],
  [{ json: { type: 'array', uniqueItems: true } }, /uniqueItems is not supported/],
  [{ json: '{' }, /is not JSON/],
  [{ json: 5 }, /must be a JSON schema/],
  [{ regex: 'a(?=b)' }, /lookaround/],
  [{ regex: '(' }, /Unterminated group/i],
  [{ regex: '(a)\\1' }, /back-reference/],
  [{ grammar: 'root ::= a' }, /"a", which is not defined/],
  [{ grammar: 'root ::= root "x" | "y"' }, /begins with itself/],
  [{ grammar: 'root = "x"' }, /line 1, column 6: expected ::=/],
  [{ grammar: 'start ::= "x"' }, /rule "root" is missing/],
  [{ choice: [] }, /choice/],
  [{ regex: 'a', choice: ['b'] }, /must have exactly one of/],
  [{}, /must have exactly one of/],
  [{ structural_tag: '{}' }, /use tools/],
  [{ jsn: {} }, /no "jsn"/],
])('rejects %j with the reason, and the server stays up', async (structured_outputs, why) => {
  const { status, body } = await ask('/v1/completions', { prompt: 'Ana', max_tokens: 2, structured_outputs })
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(why)])
  expect((await server.post('/v1/completions', { prompt: 'Ana', max_tokens: 1 })).status).toBe(200)
})

test('rejects two forms, a form with optional calls, and a form without an end', async () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  for (const extra of [
    { response_format: format, structured_outputs: { regex: 'a' } },
    { response_format: format, tools },
    { response_format: format, ignore_eos: true },
    { response_format: { type: 'json_schema' } },
    { tools: [{ ...tools[0], function: { name: 'f', parameters: { not: {} } } }], tool_choice: 'required' },
  ])
    expect([extra, (await ask('/v1/chat/completions', { messages, ...extra })).status]).toEqual([extra, 400])
})

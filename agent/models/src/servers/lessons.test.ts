import { expect, test } from 'vitest'
import { lessonOf } from './lessons.ts'
import { PROFILES, profileOfServer, type ServerProfile } from './profiles.ts'
import { readRefusal } from './refusal.ts'
import type { SentRequestFacts } from './sent-facts.ts'

const tool = (name: string, parameters: Record<string, unknown> = { type: 'object', properties: {} }) => ({
  name,
  description: 'd'.repeat(1500),
  parameters,
  key: `${name}@1`,
})
const sent = (profile: Partial<ServerProfile> = {}): SentRequestFacts => ({
  profile: { ...PROFILES.compatible, ...profile },
  fields: { stream: true, stream_options: {}, temperature: 0.5, max_tokens: 4000 },
  tools: [
    tool('read_file'),
    tool('mcp__x__ping', { type: 'object', properties: { a: { format: 'uri' } } }),
    tool('todo'),
  ],
  images: [{ key: 'image1' }],
  contents: ['text', 'parts', 'none', 'text'],
  callFields: ['extra_content'],
  reasoningFields: ['reasoning_content'],
})
const learn = (status: number, body: unknown, profile: Partial<ServerProfile> = {}) =>
  lessonOf(readRefusal(status, body), sent(profile))

test.each<[string, unknown, unknown]>([
  // Tools
  [
    "Invalid schema for function 'mcp__x__ping': In context=(), object schema missing properties.",
    {},
    { omitted_tools: ['mcp__x__ping@1'] },
  ],
  [
    "Invalid schema for function 'mcp__x__ping': In context=('properties', 'a'), 'format' is not permitted.",
    {},
    { omitted_keywords: ['format'] },
  ],
  [
    "Invalid 'tools[1].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2780 instead.",
    { param: 'tools[1].function.description', code: 'string_above_max_length' },
    { max_description: 1024 },
  ],
  [
    "Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.",
    { param: 'tools' },
    { max_tools: 2 },
  ],
  [
    'tools.2.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12',
    {},
    { omitted_tools: ['todo@1'] },
  ],
  [
    '* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: should be non-empty for OBJECT type',
    {},
    { omitted_tools: ['todo@1'] },
  ],
  // Length of the answer
  [
    'max_tokens: 4000 > 2048, which is the maximum allowed number of output tokens for this model',
    {},
    { max_tokens_limit: 2048 },
  ],
  [
    "'max_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 100 input tokens",
    {},
    { max_tokens_limit: 1024 },
  ],
  ['Invalid max_tokens value, the valid range of max_tokens is [1, 2048]', {}, { max_tokens_limit: 2048 }],
  // Fields
  ['`temperature` is deprecated for this model.', {}, { omitted_fields: ['temperature'] }],
  ['Unknown parameter: stream_options', { param: 'stream_options' }, { omitted_fields: ['stream_options'] }],
  [
    'messages.2.tool_calls.0.extra_content: Extra inputs are not permitted',
    {},
    { omitted_fields: ['extra_content'] },
  ],
  // Messages
  ["This model's chat template does not support the system role", {}, { system_role: 'user' }],
  ['messages: first message must use the "user" role', {}, { strict_roles: true }],
  [
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    {},
    { strict_roles: true },
  ],
  ['messages[2].content: invalid type: null, expected a string', {}, { empty_call_content: 'empty' }],
  ['messages[1].content must be a string', {}, { vision: false }],
  ['image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes', {}, { omitted_images: ['image1'] }],
  [
    'messages.1.content.0.image.source.base64: image does not match the provided media type',
    {},
    { omitted_images: ['image1'] },
  ],
  [
    "messages.2.reasoning_content: property 'reasoning_content' is unsupported",
    {},
    { keeps_reasoning: 'none' },
  ],
  ['`tool_use.id` must match the pattern ^[a-zA-Z0-9_-]+$', {}, { tool_id_pattern: '^[a-zA-Z0-9_-]{1,64}$' }],
  [
    "tool_use ids must match. messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$'",
    {},
    { tool_name_pattern: '^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$' },
  ],
])('the refusal %j teaches', (message, more, lesson) => {
  expect(learn(400, { message, ...(more as object) })).toEqual(lesson)
})

test.each([
  [400, "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."],
  [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
  [401, 'temperature: invalid key'],
  [429, 'Rate limit reached for requests with max_tokens 4000'],
  [503, 'image service unavailable'],
  [400, 'something went wrong'],
  [400, 'The response was filtered due to the prompt triggering our content management policy.'],
  [404, 'The model `x` does not exist'],
])('nothing is learned from %i %j', (status, message) => {
  expect(learn(status, { message })).toBeNull()
})

test('a rule that would change nothing is skipped, so no refusal repeats forever', () => {
  expect(
    learn(400, { message: 'temperature is not supported' }, { omitted_fields: ['temperature'] }),
  ).toBeNull()
  const message = 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.'
  const patterns: string[] = []
  for (let profile = {}; patterns.length < 10;) {
    const lesson = learn(400, { message }, profile)
    if (lesson === null) break
    patterns.push(String(lesson.tool_id_pattern))
    profile = lesson
  }
  expect(patterns).toEqual(['^[a-zA-Z0-9]{9}$'])
})

test('reads the reason within the wrappers of gateways', () => {
  const raw = JSON.stringify({ error: { message: 'temperature is not supported', param: 'temperature' } })
  expect(readRefusal(400, { message: 'Provider returned error', metadata: { raw } })).toEqual({
    status: 400,
    param: 'temperature',
    text: `Provider returned error · ${raw} · temperature is not supported · temperature`,
  })
  expect(readRefusal(422, { detail: [{ loc: ['body', 'messages', 1], msg: 'bad' }] }).param).toBe(
    'messages.1',
  )
})

test.each([
  ['https://api.openai.com/v1', 'openai'],
  ['https://x.openai.azure.com/openai/v1', 'azure'],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini'],
  ['https://us-central1-aiplatform.googleapis.com/v1', 'gemini'],
  ['https://api.mistral.ai/v1', 'mistral'],
  ['https://evil-mistral.ai.example.org/v1', 'compatible'],
  ['http://127.0.0.1:8000/v1', 'compatible'],
])('the host of %s has the profile %s', (url, name) => {
  expect(profileOfServer('openai', url).name).toBe(name)
})

test.each([
  'Total tokens of image and text exceed max message tokens',
  'Input is too long for requested model.',
  'Range of input length should be [1, 98304]',
])('a request that is too long (%s) teaches nothing about the rest of it', message => {
  expect(learn(400, { message })).toBeNull()
})

test('learns from a refusal that names a keyword of a schema and no tool', () => {
  expect(learn(400, { message: "Unsupported JSON schema fields: {'format'}" })).toEqual({
    omitted_keywords: ['format'],
  })
})

test.each([
  "Bad input: Error: Type mismatch of '/messages/1/content', 'array' not in 'string'",
  'this model is missing data required for image input',
])('learns from %j that the model reads no pictures', message => {
  expect(learn(400, { errors: [{ code: 5006, message }] })).toEqual({ vision: false })
})

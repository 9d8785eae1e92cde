/**
 * Requests that cost as much as possible. Each gets a status below 500, and none blocks the event loop for
 * long, so that other requests are answered meanwhile.
 */
import { afterAll, expect, test } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { openFixture } from '../server-fixture.ts'
import { attempts, tally } from './attacks.ts'
import { measureLoopDelay } from './loop-delay.ts'

/** The measured maximum was 0.2 s; this is CPU time, and some processors are slower. */
const MAX_LOOP_DELAY_MS = 400

const template =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls }}{% endfor %}{{ tools }}'
const server = await openFixture({ maxModelLen: 256, chatTemplate: template })
afterAll(() => server.close())

const MB = 2 ** 20
const list = <T>(count: number, of: (i: number) => T) => Array.from({ length: count }, (_, i) => of(i))
const record = (count: number) => Object.fromEntries(list(count, i => [i, 1]))
const user = (content: unknown) => ({ role: 'user', content })
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)
const schema = (value: object) => ({ prompt: 'x', max_tokens: 8, structured_outputs: { json: value } })
const regex = (pattern: string) => ({ prompt: 'x', max_tokens: 8, structured_outputs: { regex: pattern } })
const chain = (levels: number, step: (below: object) => object) => ({
  $defs: {
    a0: true,
    ...Object.fromEntries(list(levels, i => [`a${i + 1}`, step({ $ref: `#/$defs/a${i}` })])),
  },
  $ref: `#/$defs/a${levels}`,
})

/** Bodies, created when they are sent; a string is sent as it is. */
const COMPLETIONS: Record<string, () => object | string> = {
  'a prompt of 8 MB of words': () => ({ prompt: 'ana are mere '.repeat(600_000) }),
  'a prompt of 8 MB of spaces': () => ({ prompt: ' '.repeat(8 * MB - 20) }),
  'a prompt that is as long as it may be': () => ({ prompt: '1'.repeat(3000) }),
  'a body above the maximum': () => ({ prompt: ' '.repeat(9 * MB) }),
  '20,000 prompts': () => ({ prompt: list(20_000, () => 'ana'), max_tokens: 1 }),
  '2,700,000 empty prompts': () => `{"prompt":["${'","'.repeat(2_700_000)}"]}`,
  '2,048 prompts': () => ({ prompt: list(2048, () => 'a'), max_tokens: 1 }),
  '2,048 prompts of as many characters as they may have': () => ({
    prompt: list(2048, () => '1'.repeat(3000)),
    max_tokens: 1,
  }),
  '2,048 prompts with n 128': () => ({ prompt: list(2048, () => 'a'), n: 128, max_tokens: 1 }),
  '32 prompts with n 128': () => ({ prompt: list(32, () => 'a'), n: 128, max_tokens: 1 }),
  'log-probabilities of 1,024 prompts': () => ({
    prompt: list(1024, () => 'a'.repeat(250)),
    max_tokens: 1,
    echo: true,
    logprobs: 20,
  }),
  'log-probabilities of a few prompts': () => ({
    prompt: list(16, () => 'a'.repeat(250)),
    max_tokens: 1,
    echo: true,
    logprobs: 20,
  }),
  'a prompt of 900,000 tokens': () => `{"prompt":[${'1,'.repeat(899_999)}1]}`,
  'a prompt of 4,000,000 tokens': () => `{"prompt":[${'1,'.repeat(3_999_999)}1]}`,
  'a prompt of 400,000 lists': () => `{"prompt":[${'[1],'.repeat(399_999)}[1]]}`,
  'lists within each other': () => `{"prompt":${nested(3_000_000, '[', ']')}}`,
  'objects within each other': () => nested(500_000, '{"prompt":', '}'),
  'brackets that do not close': () => '['.repeat(8 * MB - 1),
  '100,000 unknown keys': () => ({ prompt: 'a', ...record(100_000) }),
  '49,000 unknown keys': () => ({ prompt: 'a', ...record(49_000) }),
  '90,000 biases': () => ({ prompt: 'a', logit_bias: record(90_000) }),
  '1,024 biases with n 64': () => ({ prompt: 'a', n: 64, max_tokens: 4, logit_bias: record(300) }),
  'one allowed token with n 128': () => ({ prompt: 'a', n: 128, max_tokens: 4, allowed_token_ids: [5] }),
  '900,000 allowed tokens': () =>
    `{"prompt":"a","max_tokens":4,"allowed_token_ids":[${'1,'.repeat(899_999)}1]}`,
  '900,000 tokens that stop': () =>
    `{"prompt":"a","max_tokens":4,"stop_token_ids":[${'1,'.repeat(899_999)}1]}`,
  '900,000 texts that stop': () => `{"prompt":"a","max_tokens":4,"stop":["${'a","'.repeat(899_999)}"]}`,
  'a text of 8 MB that stops': () => ({ prompt: 'a', stop: 'a'.repeat(8 * MB - 50) }),
  '64 texts that stop, as long as they may be': () => ({
    prompt: 'a',
    n: 32,
    max_tokens: 64,
    ignore_eos: true,
    stop: list(64, i => 'a'.repeat(1000) + i),
  }),
  '900,000 bad words': () => `{"prompt":"a","bad_words":["${'a","'.repeat(899_999)}b"]}`,
  '256 bad words, as long as they may be': () => ({
    prompt: 'a',
    n: 32,
    max_tokens: 4,
    bad_words: list(256, i => '1'.repeat(1000) + i),
  }),
  'penalties with n 128': () => ({
    prompt: 'a'.repeat(200),
    n: 128,
    max_tokens: 16,
    repetition_penalty: 1.1,
    presence_penalty: 1,
    frequency_penalty: 1,
  }),
  'anyOf that doubles': () => schema(chain(30, below => ({ anyOf: [below, below] }))),
  'allOf that doubles': () => schema(chain(30, below => ({ allOf: [below, below] }))),
  '300 properties of their own length': () =>
    schema({
      type: 'object',
      properties: Object.fromEntries(list(300, i => [`p${i}`, { type: 'string', maxLength: 100 + i }])),
      additionalProperties: true,
    }),
  'a schema of 8 MB as text': () => ({
    prompt: 'a',
    structured_outputs: { json: `[${'{},'.repeat(2_500_000)}1]` },
  }),
  'an expression of many ways': () => regex(`(${list(30, i => `[\\s\\S]{${i},${100 + i}}`).join('|')})`),
  'an expression of many optional parts': () => regex('(.?){200}.{200}'),
  'an expression of many classes': () => regex(`[${'\\p{L}'.repeat(5000)}]`),
  'an expression in many groups': () => regex(nested(20_000, '(', ')')),
  'an expression that backtracks elsewhere': () => regex('(a+)+(a+)+(a+)+$'),
  'an expression of 8 MB': () => regex('a'.repeat(8 * MB - 100)),
  '90,000 choices': () => ({ prompt: 'a', structured_outputs: { choice: list(90_000, i => `c${i}`) } }),
  '4,000 choices': () => ({
    prompt: 'a',
    max_tokens: 4,
    structured_outputs: { choice: list(4000, i => `choice ${i}`) },
  }),
  'rules in the order that takes longest': () => ({
    prompt: 'a',
    structured_outputs: {
      grammar: [...list(3000, i => `r${i} ::= r${i + 1}`), 'r3000 ::= "a"', 'root ::= r0'].join('\n'),
    },
  }),
}
const CHATS: Record<string, () => object | string> = {
  '90,000 messages': () => `{"messages":[${'{"role":"u"},'.repeat(40_000)}{"role":"u"}]}`,
  '30,000 messages': () => ({ messages: list(16_000, () => user('a')) }),
  'a message of 8 MB': () => ({ messages: [user('a'.repeat(8 * MB - 100))] }),
  '30,000 parts of a message': () => ({ messages: [user(list(16_000, () => ({ type: 'text', text: '' })))] }),
  'arguments of 4 MB of numbers': () => ({
    messages: [
      {
        role: 'assistant',
        tool_calls: [{ function: { name: 'f', arguments: `[${'1.5,'.repeat(1_000_000)}1]` } }],
      },
      user('a'),
    ],
  }),
  '10,000 tools': () => ({
    messages: [user('a')],
    tools: list(10_000, i => ({ type: 'function', function: { name: `f${i}` } })),
  }),
  'a call of one of 5,000 tools': () => ({
    messages: [user('a')],
    tool_choice: 'required',
    tools: list(5000, i => ({ type: 'function', function: { name: `f${i}` } })),
  }),
  'a tool of 900,000 exact numbers': () =>
    `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f",` +
    `"parameters":{"enum":[${'1.0,'.repeat(899_999)}1.0]}}}]}`,
  'a tool of parts within each other': () =>
    `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f",` +
    `"parameters":${nested(500, '{"items":', '}').replace('}', '1}')}}}]}`,
  'variables of 8 MB': () => ({
    messages: [user('a')],
    chat_template_kwargs: { a: list(400_000, i => `a${i}`) },
  }),
}
const RESPONSES: Record<string, () => object | string> = {
  '16,000 items': () => ({ input: list(16_000, () => ({ role: 'user', content: 'a' })) }),
  '20,000 calls that follow one another': () => ({
    input: list(20_000, () => ({ type: 'function_call', name: 'f' })),
  }),
}
const TOKENS: Record<string, () => object | string> = {
  'a text of 1 MB': () => ({ prompt: '1'.repeat(MB), return_token_strs: true }),
  'a text of 8 MB': () => ({ prompt: '1'.repeat(8 * MB - 100) }),
}
const TEXTS: Record<string, () => object | string> = {
  '900,000 tokens': () => `{"tokens":[${'65,'.repeat(899_999)}65]}`,
}
const ROUTES = {
  '/v1/completions': COMPLETIONS,
  '/v1/chat/completions': CHATS,
  '/v1/responses': RESPONSES,
  '/tokenize': TOKENS,
  '/detokenize': TEXTS,
  '/v1/load_lora_adapter': {
    'a name of 8 MB': () => ({ lora_name: 'a'.repeat(8 * MB - 100), lora_path: '/x' }),
  },
}

let tried = 0
let unexpected = 0
const slowest: [name: string, ms: number][] = []
afterAll(() => {
  tally('requests that cost much', tried, unexpected)
  const rows = slowest.toSorted((a, b) => b[1] - a[1]).slice(0, 5)
  console.log(rows.map(([name, ms]) => `${ms.toFixed(0)} ms without a turn: ${name}`).join('\n'))
})

const BOMBS = Object.entries(ROUTES).flatMap(([path, bodies]) =>
  Object.entries(bodies).map(([name, make]) => [path, name, make] as const),
)

/** Promise T6.8: No request blocks other requests. */
test.for(attempts(0, 1) === 1 ? BOMBS : everyNth(3, BOMBS))(
  '%s: %s does not block other requests',
  async ([path, name, make]) => {
    const made = make()
    const body = Buffer.from(typeof made === 'string' ? made : JSON.stringify(made))
    for (let round = 0; round < attempts(1, 3); round++) {
      tried++
      const { ms, value } = await measureLoopDelay(async () => {
        const reply = fetch(server.url + path, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json' },
        })
        const health = await fetch(`${server.url}/health`)
        const { status } = await reply
        return { status, health: health.status }
      })
      slowest.push([`${path} ${name}, ${value.status}`, ms])
      if (ms > MAX_LOOP_DELAY_MS || value.status >= 500) unexpected++
      expect(value.status).toBeLessThan(500)
      expect(value.health).toBe(200)
      expect(ms).toBeLessThan(MAX_LOOP_DELAY_MS)
    }
  },
)

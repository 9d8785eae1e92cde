/**
 * An answer does not depend on where the network cuts it: every two-way split of every stream, and single
 * bytes. The same streams with CRLF differ only at line ends and are cut around each of those.
 */
import { expect, test } from 'vitest'
import { createAnthropic } from '../src/anthropic.ts'
import { createOpenAI } from '../src/openai.ts'
import type { ModelProvider } from '../src/provider.ts'
import type { Fetch } from '../src/plain-fetch.ts'
import { ask, outcome, piecewise, wire, withCrlf, type AnswerOutcome } from './wire-server.ts'

const openai = (fetch: Fetch): ModelProvider =>
  createOpenAI({ name: 'o', baseUrl: 'http://model.test/v1', fetch })
const anthropic = (fetch: Fetch): ModelProvider =>
  createAnthropic({ name: 'a', baseUrl: 'http://model.test', fetch })

const answered = (content: string, finish_reason: string, rest: object = {}, message: object = {}) => ({
  answer: {
    message: { role: 'assistant', content, ...message },
    reasoning: '',
    finish_reason,
    model: 'gpt-x',
    usage: { input_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0 },
    ...rest,
  },
})
const tokens = (
  input_tokens: number,
  output_tokens: number,
  reasoning_tokens = 0,
  cache_read_tokens = 0,
) => ({ usage: { input_tokens, output_tokens, reasoning_tokens, cache_read_tokens } })
const call = (id: unknown, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})

const STREAMS: [name: string, provider: (fetch: Fetch) => ModelProvider, expected: unknown][] = [
  [
    'openai-text',
    openai,
    answered('Grüße aus 東京 🗼 – 👩‍👩‍👧 done\n\n"quoted" \\ ok', 'stop', tokens(120, 40, 24, 96)),
  ],
  [
    'openai-parallel-tools',
    openai,
    answered('', 'tool_calls', tokens(81, 33), {
      tool_calls: [
        call('call_A1', 'read_file', '{"path": "ä.md"}'),
        call('call_B2', 'search_files', '{"pattern": "\\\\d+🙂"}'),
      ],
    }),
  ],
  [
    'openai-reasoning-content',
    openai,
    answered('It is noon.', 'stop', {
      model: 'deepseek-x',
      reasoning: 'The user wants the time…',
      ...tokens(20, 15, 9, 16),
    }),
  ],
  [
    'openai-reasoning-details',
    openai,
    answered(
      '',
      'tool_calls',
      { model: 'router/x', reasoning: 'First think.', ...tokens(10, 5) },
      {
        tool_calls: [call('tool_0_terminal', 'terminal', '{"command":"date"}')],
        reasoning_details: [
          {
            format: 'openai-compatible',
            model: 'gpt-x',
            reasoning_details: [
              {
                type: 'reasoning.text',
                text: 'First think.',
                signature: 'c2ln',
                format: 'anthropic-claude-v1',
                index: 0,
              },
              {
                type: 'reasoning.encrypted',
                data: 'ZW5j',
                id: 'rs_1',
                format: 'openai-responses-v1',
                index: 1,
              },
            ],
          },
        ],
      },
    ),
  ],
  ['openai-refusal', openai, answered("I'm sorry, I can’t help with that.", 'content_filter', tokens(9, 8))],
  [
    'openai-error-mid-stream',
    openai,
    {
      category: 'provider_error',
      retryable: true,
      message: '[o/gpt-x] mid-answer: The server had an error while processing your request 🙈',
    },
  ],
  [
    'openai-no-index-no-id',
    openai,
    answered(
      '',
      'tool_calls',
      { model: 'local' },
      {
        tool_calls: [
          call(expect.stringMatching(/^call_[0-9a-f]{24}$/), 'list_files', '{"path":"docs"}'),
          call(expect.stringMatching(/^call_[0-9a-f]{24}$/), 'list_files', '{"path":"src"}'),
        ],
      },
    ),
  ],
  ['openai-whole-message', openai, answered('All at once ✓', 'stop', { model: 'local', ...tokens(3, 4) })],
  [
    'anthropic-text',
    anthropic,
    answered('Grüße – 東京 🗼\n"fin"', 'stop', {
      model: 'claude-x-1',
      usage: { ...tokens(262, 21, 0, 200).usage, cache_write_tokens: 50 },
    }),
  ],
  [
    'anthropic-thinking-tools',
    anthropic,
    answered(
      'Reading both.',
      'tool_calls',
      { model: 'claude-x-1', reasoning: 'Two files to read…', ...tokens(300, 88, 30) },
      {
        tool_calls: [
          call('toolu_01A', 'read_file', '{"path": "ä.md"}'),
          call('toolu_01B', 'list_files', '{}'),
        ],
        reasoning_details: [
          { type: 'thinking', thinking: 'Two files to read…', signature: 'EqQBCkYIARgCKkBsig==' },
          { type: 'redacted_thinking', data: 'b3BhcXVl' },
        ],
      },
    ),
  ],
  [
    'anthropic-interleaved',
    anthropic,
    answered(
      'one ',
      'tool_calls',
      { model: 'claude-x-1', reasoning: 'A\n\nB', ...tokens(50, 9) },
      {
        tool_calls: [call('toolu_9', 'list_files', '{}')],
        reasoning_details: [
          { type: 'thinking', thinking: 'A', signature: 's1' },
          { type: 'text_of', length: 4 },
          { type: 'thinking', thinking: 'B', signature: 's2' },
          { type: 'call_of' },
        ],
      },
    ),
  ],
  [
    'anthropic-refusal',
    anthropic,
    answered('I can’t', 'content_filter', { model: 'claude-x-1', ...tokens(7, 3) }),
  ],
  [
    'anthropic-overloaded',
    anthropic,
    { category: 'provider_error', retryable: true, message: '[a/gpt-x] mid-answer: Overloaded 🙈' },
  ],
]

for (const [name, connect, expected] of STREAMS) {
  for (const [ending, body] of [
    ['', wire(name)],
    [' with CRLF', withCrlf(wire(name))],
  ] as const) {
    const isCut = (cut: number) =>
      ending === '' || [13, 10].includes(body[cut - 1] ?? 0) || [13, 10].includes(body[cut] ?? 0)
    test(`${name}${ending} reads the same wherever the network cuts it`, async () => {
      let pieces: readonly Uint8Array[] = [body]
      const provider = connect(piecewise(() => pieces))
      const whole = await outcome(provider, ask('hello'))
      expect(whole).toEqual(expected)

      const same = JSON.stringify(whole)
      const differing: [cut: number, got: AnswerOutcome][] = []
      const check = async (cut: number) => {
        const got = await outcome(provider, ask('hello'))
        if (JSON.stringify(got) !== same) differing.push([cut, got])
      }
      for (let cut = 1; cut < body.length; cut += 1) {
        if (!isCut(cut)) continue
        pieces = [body.subarray(0, cut), body.subarray(cut)]
        await check(cut)
      }
      pieces = Array.from(body, (_, at) => body.subarray(at, at + 1))
      await check(-1)
      expect(differing).toEqual([])
    })
  }
}

test('the streamed chunks add up to the answer', async () => {
  for (const [name, connect] of STREAMS) {
    const shown = { text: '', reasoning: '' }
    let alive = 0
    const got = await outcome(
      connect(piecewise(() => Array.from(wire(name), byte => Uint8Array.of(byte)))),
      ask('hello'),
      chunk => {
        if (chunk.type === 'alive') alive += 1
        else shown[chunk.type] += chunk.text
      },
    )
    expect(alive, name).toBe(wire(name).length)
    if (!('answer' in got)) continue
    const { message, reasoning } = got.answer as { message: { content: string }; reasoning: string }
    expect(shown, name).toEqual({ text: message.content, reasoning: reasoning.replaceAll('\n\n', '') })
  }
})

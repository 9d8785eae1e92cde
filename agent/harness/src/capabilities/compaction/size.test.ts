import {
  type Conversation,
  emptyConversation,
  foldConversation,
  foldMeasured,
  type Measured,
} from '@cairn/state'
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { estimateTokens, tokensOfMessage } from './size.ts'

type Line = [type: string, data: Record<string, unknown>]
const message = (content: string): Line => ['user.message', { content }]
const request: Line = ['llm.request', { model: 'm', turn_id: 't', iteration_index: 0 }]
const answer = (content: string, usage: Record<string, number>): Line => [
  'llm.response',
  {
    message: { role: 'assistant', content },
    turn_id: 't',
    iteration_index: 0,
    finish_reason: 'stop',
    output_tokens: 0,
    reasoning_tokens: 0,
    ...usage,
  },
]

function estimate(lines: readonly Line[], overhead = 50): number {
  let conversation: Conversation = emptyConversation
  let measured: Measured = null
  for (const [index, [type, data]] of lines.entries()) {
    const event = {
      id: index + 1,
      session_id: 's',
      type,
      created_at: '2026-01-01T00:00:00Z',
      data,
    } as unknown as SessionEvent
    const after = foldConversation(conversation, event)
    measured = foldMeasured(measured, event, conversation.entries.length, after)
    conversation = after
  }
  return estimateTokens(conversation.entries, measured, overhead)
}
const forty = 'x'.repeat(40)

test('without a count of the server, estimates everything with the system prompt and the tools', () => {
  expect(estimate([message(forty), message(forty)])).toBe(50 + 2 * (4 + 10))
  expect(estimate([message(forty), request, answer('', { input_tokens: 0 })])).toBe(50 + 14)
})

test("uses the server's count up to its answer and estimates only what came after", () => {
  expect(estimate([message(forty), request, answer('yes', { input_tokens: 900, output_tokens: 100 })])).toBe(
    1000,
  )
  expect(
    estimate([
      message(forty),
      request,
      answer('yes', { input_tokens: 900, output_tokens: 100 }),
      message(forty),
    ]),
  ).toBe(1014)
})

test("a message that arrived while the model answered is not part of the server's count", () => {
  expect(
    estimate([
      message(forty),
      request,
      message(forty),
      answer('yes', { input_tokens: 900, output_tokens: 100 }),
    ]),
  ).toBe(1014)
  expect(
    estimate([message(forty), request, message(forty), answer('', { input_tokens: 900, output_tokens: 0 })]),
  ).toBe(914)
})

test('does not count reasoning, which is not sent again', () => {
  expect(
    estimate([
      message(forty),
      request,
      answer('yes', { input_tokens: 900, output_tokens: 100, reasoning_tokens: 80 }),
    ]),
  ).toBe(920)
})

test('ignores the old count after a compaction', () => {
  const compact: Line = [
    'context.compact',
    {
      strategy: 'summary',
      through_event_id: 3,
      compacted_messages: [{ role: 'user', content: forty }],
      original_message_count: 2,
      compressed_message_count: 1,
    },
  ]
  expect(
    estimate([message(forty), request, answer('yes', { input_tokens: 9000, output_tokens: 100 }), compact]),
  ).toBe(64)
})

test('counts calls with their arguments and images with a flat size', () => {
  expect(
    tokensOfMessage({
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: forty } }],
    }),
  ).toBe(4 + 11)
  expect(
    tokensOfMessage({
      role: 'user',
      content: '',
      images: [{ data: forty.repeat(1000), mime_type: 'image/png' }],
    }),
  ).toBe(1504)
})

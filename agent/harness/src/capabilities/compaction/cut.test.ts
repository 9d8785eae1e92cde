import { type Conversation, type ConversationEntry, emptyConversation, foldConversation } from '@cairn/state'
import type { SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseCut, cutPlaces, KEPT_MESSAGES } from './cut.ts'
import { tokensOfEntries } from './size.ts'
import { shorten, summaryMessage } from './summary-message.ts'

const user = (event_id: number, content = 'x'.repeat(40)): ConversationEntry => ({
  event_id,
  message: { role: 'user', content },
})
const asks = (event_id: number, ...ids: string[]): ConversationEntry => ({
  event_id,
  message: {
    role: 'assistant',
    content: '',
    tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
  },
})
const result = (event_id: number, tool_call_id: string, content = 'r'): ConversationEntry => ({
  event_id,
  message: { role: 'tool', tool_call_id, content },
})

test('cuts only between whole exchanges', () => {
  expect(cutPlaces([user(1), asks(2, 'a', 'b'), result(4, 'a'), result(6, 'b'), user(7)])).toEqual([1, 4, 5])
})

test('a message that is older than the answer before it stays with that answer', () => {
  expect(cutPlaces([user(1), asks(5), user(3), user(9)])).toEqual([1, 3, 4])
})

test('keeps the newest messages within a fifth of the window, but at least four if they fit', () => {
  const entries = Array.from({ length: 100 }, (_, index) => user(index + 1))
  expect(chooseCut(entries, 1000)?.kept).toHaveLength(14)
  expect(chooseCut(entries, 100)?.kept).toHaveLength(2)
  expect(chooseCut(entries.slice(0, 8), 1_000_000)?.kept).toHaveLength(KEPT_MESSAGES)
})

test('summarizes even the newest messages when they alone are too large', () => {
  const huge = [user(1), asks(2, 'a'), result(3, 'a', 'y'.repeat(100_000))]
  expect(chooseCut(huge, 8000)).toMatchObject({ through_event_id: 3, kept: [] })
})

test('makes no cut that would free no space', () => {
  expect(chooseCut([], 1000)).toBeNull()
  const summary = {
    event_id: 3,
    message: summaryMessage(shorten([user(1)]), { todos: [], goal: null, waiting: [], workers: [] }),
  }
  expect(chooseCut([summary, user(8)], 1_000_000)).toBeNull()
  expect(chooseCut([user(1), user(2), user(3), user(4), user(5), user(6)], 1000, 500)).toBeNull()
})

/**
 * A log of messages, answers with any number of calls, results in any order, and messages that arrive in
 * between.
 */
const conversations = fc
  .array(
    fc.record({ calls: fc.nat(3), steering: fc.boolean(), size: fc.nat(400), backwards: fc.boolean() }),
    { minLength: 1, maxLength: 25 },
  )
  .map(rounds => {
    let id = 0
    const event = (type: string, data: Record<string, unknown>): SessionEvent =>
      ({
        id: ++id,
        session_id: 's',
        type,
        created_at: '2026-01-01T00:00:00Z',
        data,
      }) as unknown as SessionEvent
    const events = rounds.flatMap(({ calls, steering, size, backwards }, round) => {
      const ids = Array.from({ length: calls }, (_, index) => `${round}-${index}`)
      const results = backwards ? ids.toReversed() : ids
      return [
        event('user.message', { content: 'u'.repeat(size) }),
        event('llm.request', { model: 'm', turn_id: 't', iteration_index: round }),
        ...(steering ? [event('user.message', { content: 'wait' })] : []),
        event('llm.response', {
          message: {
            role: 'assistant',
            content: 'a',
            ...(calls > 0
              ? {
                  tool_calls: ids.map(call => ({
                    id: call,
                    type: 'function',
                    function: { name: 'look', arguments: '{}' },
                  })),
                }
              : {}),
          },
          finish_reason: 'stop',
        }),
        ...(steering ? [event('user.message', { content: 'and this' })] : []),
        ...results.map(call =>
          event('tool.result', {
            tool_call_id: call,
            name: 'look',
            content: 'r'.repeat(size),
            elapsed_ms: 1,
          }),
        ),
      ]
    })
    return {
      events,
      next: id + 1,
      conversation: events.reduce(foldConversation, emptyConversation as Conversation),
    }
  })

/** Promise 7: A compaction never separates a call from its result. */
test('property: folding a compaction keeps the newest messages unchanged and separates no call from its result', () => {
  fc.assert(
    fc.property(conversations, fc.integer({ min: 10, max: 5000 }), ({ conversation, next }, window) => {
      const cut = chooseCut(conversation.entries, window)
      if (cut === null) return
      expect([...cut.older, ...cut.kept]).toEqual(conversation.entries)
      const compacted = foldConversation(conversation, {
        id: next,
        session_id: 's',
        type: 'context.compact',
        created_at: '',
        data: {
          strategy: 'summary',
          original_message_count: 0,
          compressed_message_count: 0,
          through_event_id: cut.through_event_id,
          compacted_messages: [{ role: 'user', content: 'summary' }],
        },
      } as unknown as SessionEvent)
      expect(compacted.entries).toEqual([
        { event_id: cut.through_event_id, message: { role: 'user', content: 'summary' } },
        ...cut.kept,
      ])
      const called = cut.kept.flatMap(({ message }) =>
        message.role === 'assistant' ? (message.tool_calls ?? []).map(call => call.id) : [],
      )
      expect(
        cut.kept.flatMap(({ message }) => (message.role === 'tool' ? [message.tool_call_id] : [])).toSorted(),
      ).toEqual(called.toSorted())
      expect(tokensOfEntries(cut.kept)).toBeLessThanOrEqual(Math.max(window * 0.4, 0))
    }),
  )
})

/** The cost of folding many events, measured in copied lists and never in time. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SessionEvent } from '@cairn/protocol'
import {
  type Conversation,
  emptyConversation,
  emptyTurn,
  foldConversation,
  foldConversationInto,
  foldTurn,
  foldTurnInto,
  type TurnState,
} from '@cairn/state'

type Line = [type: string, data: unknown]
const logOf = (lines: readonly Line[]): SessionEvent[] =>
  lines.map(
    ([type, data], at) =>
      ({
        id: at + 1,
        session_id: 's',
        type,
        created_at: '2026-01-01T00:00:00.000Z',
        data,
      }) as unknown as SessionEvent,
  )

/** A turn with this number of calls, one per iteration. */
const turnOf = (calls: number): SessionEvent[] =>
  logOf([
    ['user.message', { content: 'go' }],
    ...Array.from({ length: calls }, (_, at): Line[] => [
      ['llm.request', { model: 'm', turn_id: 't', iteration_index: at }],
      [
        'llm.response',
        {
          message: {
            role: 'assistant',
            content: '',
            tool_calls: [
              { id: `c${at}`, type: 'function', function: { name: 'read_file', arguments: '{}' } },
            ],
          },
          turn_id: 't',
          iteration_index: at,
          finish_reason: 'tool_calls',
          input_tokens: 1,
          output_tokens: 1,
        },
      ],
      ['tool.call', { tool_call_id: `c${at}`, name: 'read_file', arguments: {} }],
      ['user.message', { content: 'and this' }],
      ['tool.result', { tool_call_id: `c${at}`, name: 'read_file', content: 'read', elapsed_ms: 1 }],
    ]).flat(),
  ])

/** The number of different lists that the fold went through: each is a copy of the previous one. */
function copies<T>(
  events: readonly SessionEvent[],
  start: T,
  fold: (state: T, event: SessionEvent) => T,
  listOf: (state: T) => readonly unknown[],
): number {
  const seen = new Set<readonly unknown[]>()
  events.reduce((state, event) => {
    const next = fold(state, event)
    seen.add(listOf(next))
    return next
  }, start)
  return seen.size
}

/** Promise 7: Folding an event of a long log costs no more than one of a short log. */
test('a fold of ten thousand events copies the conversation once and the calls of the turn once', () => {
  const events = turnOf(2000)
  const owned = new WeakSet<readonly unknown[]>()
  expect(events).toHaveLength(10_001)
  expect(
    copies<Conversation>(
      events,
      emptyConversation,
      (state, event) => foldConversationInto(owned, state, event),
      state => state.entries,
    ),
  ).toBe(1)
  expect(
    copies<TurnState>(
      events,
      emptyTurn,
      (state, event) => foldTurnInto(owned, state, event),
      state => state.calls,
    ),
  ).toBe(2)
  // A fold of single events copies the list at each step, because the caller may keep each state.
  expect(
    copies<Conversation>(turnOf(20), emptyConversation, foldConversation, state => state.entries),
  ).toBeGreaterThan(40)
})

test('folding in place and folding step by step reach the same end, and the input stays unchanged', () => {
  const events = turnOf(6)
  fc.assert(
    fc.property(fc.nat({ max: events.length }), cut => {
      const [first, rest] = [events.slice(0, cut), events.slice(cut)]
      const before = {
        conversation: first.reduce((state, event) => foldConversation(state, event), emptyConversation),
        turn: first.reduce((state, event) => foldTurn(state, event), emptyTurn),
      }
      const kept = structuredClone(before)
      const owned = new WeakSet<readonly unknown[]>()
      expect(
        rest.reduce((state, event) => foldConversationInto(owned, state, event), before.conversation),
      ).toEqual(events.reduce((state, event) => foldConversation(state, event), emptyConversation))
      expect(rest.reduce((state, event) => foldTurnInto(owned, state, event), before.turn)).toEqual(
        events.reduce((state, event) => foldTurn(state, event), emptyTurn),
      )
      expect(before).toEqual(kept)
    }),
  )
})

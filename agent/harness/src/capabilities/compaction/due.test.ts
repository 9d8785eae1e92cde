import { emptyConversation } from '@cairn/state'
import { expect, test } from 'vitest'
import { COMPACTIONS_PER_TURN, type CompactPosition, cutAfterOverflow, cutDue, LONG } from './due.ts'

const window = { tokens: 1000, compact_at: 750, overhead: 100 }
const at = (tokens: number, changes: Partial<CompactPosition> = {}): CompactPosition => ({
  conversation: {
    ...emptyConversation,
    entries: Array.from({ length: 10 }, (_, index) => ({
      event_id: index + 1,
      message: { role: 'user', content: 'x'.repeat(200) },
    })),
  },
  turn: { compactions: 0 },
  measured: { tokens, entries: 10 },
  compacted: null,
  ...changes,
})
const waiting = {
  ...at(900).conversation,
  open: [
    {
      tool_call_id: 'a',
      name: 'look',
      arguments: '{}',
      state: 'asked' as const,
      call_event_id: null,
      called_at: null,
      answered: null,
    },
  ],
}

test('compacts a conversation from the threshold on', () => {
  expect(cutDue(at(749), window)).toBeNull()
  expect(cutDue(at(750), window)).not.toBeNull()
})

test('counts the system prompt and the tools when the server has not counted', () => {
  expect(cutDue(at(0, { measured: null }), window)).toBeNull()
  expect(cutDue(at(0, { measured: null }), { ...window, overhead: 250 })).not.toBeNull()
})

test('never compacts with open calls, before the next answer of the model, or more than twice a turn', () => {
  expect(cutDue(at(900, { conversation: waiting }), window)).toBeNull()
  expect(cutDue(at(900, { compacted: 'threshold' }), window)).toBeNull()
  expect(cutDue(at(900, { turn: { compactions: COMPACTIONS_PER_TURN } }), window)).toBeNull()
  expect(cutAfterOverflow(at(900, { conversation: waiting }), 'too_long')).toBeNull()
  expect(cutAfterOverflow(at(900, { turn: { compactions: COMPACTIONS_PER_TURN } }), 'too_long')).toBeNull()
})

test('compacts once after a server rejects a request as too long, whatever the estimate was', () => {
  expect(cutAfterOverflow(at(10), 'too_long')).not.toBeNull()
  expect(cutAfterOverflow(at(10, { compacted: 'threshold' }), 'too_long')).not.toBeNull()
  expect(cutAfterOverflow(at(10, { compacted: 'overflow' }), 'too_long')).toBeNull()
})

test('takes a refusal without a cause as an overflow only for a long conversation, and once', () => {
  const withText = (chars: number, changes: Partial<CompactPosition> = {}) => {
    const position = at(10, changes)
    const entry = { event_id: 0, message: { role: 'user' as const, content: 'x'.repeat(chars) } }
    return {
      ...position,
      conversation: { ...position.conversation, entries: [entry, ...position.conversation.entries] },
    }
  }
  expect(cutAfterOverflow(withText(0), 'no_cause')).toBeNull()
  expect(cutAfterOverflow(withText(4 * LONG), 'no_cause')).not.toBeNull()
  expect(cutAfterOverflow(withText(4 * LONG, { compacted: 'overflow' }), 'no_cause')).toBeNull()
})

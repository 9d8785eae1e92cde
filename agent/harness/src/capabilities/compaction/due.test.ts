import { emptyConversation } from '@cairn/state'
import { expect, test } from 'vitest'
import { COMPACTIONS_PER_TURN, type CompactPosition, cutAfterOverflow, cutDue } from './due.ts'

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
  expect(cutAfterOverflow(at(900, { conversation: waiting }))).toBeNull()
  expect(cutAfterOverflow(at(900, { turn: { compactions: COMPACTIONS_PER_TURN } }))).toBeNull()
})

test('compacts once after a server rejects a request as too long, whatever the estimate was', () => {
  expect(cutAfterOverflow(at(10))).not.toBeNull()
  expect(cutAfterOverflow(at(10, { compacted: 'threshold' }))).not.toBeNull()
  expect(cutAfterOverflow(at(10, { compacted: 'overflow' }))).toBeNull()
})

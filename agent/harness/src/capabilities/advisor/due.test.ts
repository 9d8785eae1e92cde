import { AdvisorConfig } from '@cairn/protocol'
import { emptyConversation, noAdvice } from '@cairn/state'
import { expect, test } from 'vitest'
import { type AdvicePosition, adviceDue } from './due.ts'

const settings = AdvisorConfig.parse({ model: 'demo/advisor', every_iterations: 5 })
const failed = {
  tool_call_id: 'c',
  name: 'note',
  arguments: '{}',
  content: '{"error":"Tool execution failed: no"}',
}
const fine = { ...failed, content: 'ok' }
const result = { event_id: 9, message: { role: 'tool', tool_call_id: 'c', content: 'ok' } } as const
const at = (
  change: Partial<AdvicePosition> & { iteration?: number; calls?: AdvicePosition['turn']['calls'] },
): AdvicePosition => ({
  conversation: { ...emptyConversation, entries: [result] },
  turn: { turn_id: 't', calls: change.calls ?? [fine] },
  answer: { iteration_index: change.iteration ?? 0 },
  advice: noAdvice,
  ...change,
})

test('advice is due every every_iterations iterations, counted from the last advice', () => {
  expect(adviceDue(at({ iteration: 3 }), false, settings)).toBeNull()
  expect(adviceDue(at({ iteration: 4 }), false, settings)).toBe('progress')
  expect(
    adviceDue(at({ iteration: 8, advice: { ...noAdvice, asked: 1, last_iteration: 4 } }), false, settings),
  ).toBeNull()
  expect(
    adviceDue(at({ iteration: 9, advice: { ...noAdvice, asked: 1, last_iteration: 4 } }), false, settings),
  ).toBe('progress')
})

test('failing calls make advice due earlier, but not before the second iteration', () => {
  expect(adviceDue(at({ iteration: 1, calls: [failed, failed, failed] }), false, settings)).toBe('stuck')
  expect(adviceDue(at({ iteration: 0, calls: [failed, failed, failed] }), false, settings)).toBeNull()
  expect(adviceDue(at({ iteration: 2, calls: [failed, fine, failed] }), false, settings)).toBeNull()
})

test('the review before the end happens once, in a turn that used tools', () => {
  expect(adviceDue(at({}), true, settings)).toBe('review')
  expect(adviceDue(at({ calls: [] }), true, settings)).toBeNull()
  expect(adviceDue(at({ advice: { ...noAdvice, asked: 1, reviewed: true } }), true, settings)).toBeNull()
  expect(adviceDue(at({}), true, { ...settings, before_finish: false })).toBeNull()
})

test('no advice is due without an advisor, past the limit of a turn, between turns, or before a new message', () => {
  expect(adviceDue(at({ iteration: 9 }), false, AdvisorConfig.parse({}))).toBeNull()
  expect(adviceDue(at({ iteration: 9, advice: { ...noAdvice, asked: 2 } }), false, settings)).toBeNull()
  expect(adviceDue(at({ iteration: 9, turn: { turn_id: null, calls: [fine] } }), false, settings)).toBeNull()
  expect(
    adviceDue(
      at({
        iteration: 9,
        conversation: {
          ...emptyConversation,
          entries: [result, { event_id: 10, message: { role: 'user', content: 'wait' } }],
        },
      }),
      false,
      settings,
    ),
  ).toBeNull()
})

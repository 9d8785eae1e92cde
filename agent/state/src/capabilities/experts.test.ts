import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { foldExperts } from './experts.ts'

type Entry = { [T in EventType]: [T, ReadData<T>] }[EventType]
const fold = (...entries: Entry[]) =>
  entries
    .map(
      ([type, data], index) =>
        ({
          id: index + 1,
          session_id: 's',
          type,
          created_at: '2026-01-01T00:00:00.000Z',
          data,
        }) as unknown as SessionEvent,
    )
    .reduce(foldExperts, [])
const delegated = (tool_call_id: string): Entry => [
  'expert.delegation',
  { expert: 'surveyor', task: 'look', tools: ['note'], max_iterations: 3, tool_call_id },
]

test('two parallel delegations each get their own end, cost and rating', () => {
  const runs = fold(
    delegated('a'),
    delegated('b'),
    [
      'expert.failure',
      { expert: 'surveyor', success: false, iterations_used: 3, error: 'used up', tool_call_id: 'b' },
    ],
    [
      'expert.result',
      {
        expert: 'surveyor',
        success: true,
        iterations_used: 1,
        content: 'here',
        tool_call_id: 'a',
        input_tokens: 5,
        output_tokens: 2,
        cost_usd: 0.5,
        trace: [{ name: 'note', ok: true }],
      },
    ],
    ['expert.endorse', { expert: 'surveyor', target_event_id: 4, rating: 'up', source: 'judge' }],
    ['expert.override', { expert: 'surveyor', target_event_id: 4, rating: 'down', source: 'user' }],
  )
  expect(runs).toMatchObject([
    {
      tool_call_id: 'a',
      status: 'done',
      outcome: 'here',
      result_id: 4,
      iterations_used: 1,
      tokens: 7,
      cost_usd: 0.5,
      unpriced: false,
      trace: [{ name: 'note' }],
      rating: 'down',
    },
    {
      tool_call_id: 'b',
      status: 'failed',
      outcome: 'used up',
      result_id: null,
      iterations_used: 3,
      rating: null,
    },
  ])
})

test('an end without its delegation and a repeated delegation change nothing', () => {
  expect(
    fold([
      'expert.failure',
      { expert: 'x', success: false, iterations_used: 0, error: 'e', tool_call_id: 'c' },
    ]),
  ).toEqual([])
  expect(fold(delegated('a'), delegated('a'))).toHaveLength(1)
})

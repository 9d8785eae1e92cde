import { expect, test } from 'vitest'
import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import { type GoalState, foldGoal } from './goal.ts'

type Entry = { [T in EventType]: [T, ReadData<T>] }[EventType]
const fold = (...entries: Entry[]): GoalState =>
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
    .reduce(foldGoal, null as GoalState)

const defined: Entry = [
  'outcome.defined',
  {
    outcome_id: 'o',
    description: 'ship it',
    rubric: { type: 'text', content: 'tests pass' },
    max_iterations: 3,
  },
]
const start = (iteration: number): Entry => [
  'span.outcome_evaluation_start',
  { outcome_id: 'o', iteration, response_event_id: 2 },
]
const end = (result: ReadData<'span.outcome_evaluation_end'>['result'], parse_failed = false): Entry => [
  'span.outcome_evaluation_end',
  {
    outcome_id: 'o',
    outcome_evaluation_start_id: 2,
    iteration: 1,
    result,
    explanation: 'e',
    feedback: 'f',
    parse_failed,
    input_tokens: 3,
    output_tokens: 4,
    cost_usd: 0.5,
  },
]

test('both ways of defining a goal result in the same goal', () => {
  const byApi: Entry = [
    'user.define_outcome',
    {
      outcome_id: 'o',
      description: 'ship it',
      rubric: { type: 'text', content: 'tests pass' },
      max_iterations: 3,
      processed_at: '2026-01-01T00:00:00.000Z',
    },
  ]
  expect(fold(byApi)).toEqual(fold(defined))
  expect(fold(defined)).toMatchObject({
    status: 'active',
    iteration: 0,
    rubric: 'tests pass',
    max_iterations: 3,
  })
})

test('a verdict closes the span, counts an iteration and its cost, and owes a continuation only for a revision', () => {
  expect(fold(defined, start(0))).toMatchObject({ open: { start_id: 2, iteration: 0, ongoing: false } })
  expect(fold(defined, start(0), end('needs_revision'))).toMatchObject({
    status: 'active',
    open: null,
    iteration: 1,
    owed: { verdict_id: 3, continuation: false },
    spent: { tokens: 7, cost_usd: 0.5 },
  })
  expect(fold(defined, start(0), end('satisfied'))).toMatchObject({ status: 'satisfied', owed: null })
})

test('the continuation and then its message settle what a verdict owes', () => {
  const owed = fold(defined, start(0), end('needs_revision'), [
    'outcome.continuation',
    { outcome_id: 'o', iteration: 1, status_event_id: null },
  ])
  expect(owed).toMatchObject({ owed: { continuation: true } })
  expect(
    fold(
      defined,
      start(0),
      end('needs_revision'),
      ['outcome.continuation', { outcome_id: 'o', iteration: 1, status_event_id: null }],
      ['user.message', { content: 'go on', synthetic: 'outcome_continuation', outcome_id: 'o' }],
    ),
  ).toMatchObject({ owed: null })
})

test('a goal that is paused during its evaluation stays paused unless the verdict is satisfied', () => {
  const paused: Entry = ['outcome.paused', { outcome_id: 'o', reason: 'user-paused' }]
  expect(fold(defined, start(0), paused, end('needs_revision'))).toMatchObject({ status: 'paused' })
  expect(fold(defined, start(0), paused, end('satisfied'))).toMatchObject({ status: 'satisfied' })
  expect(
    fold(defined, paused, [
      'user.message',
      { content: 'resume', synthetic: 'outcome_resumed', outcome_id: 'o' },
    ]),
  ).toMatchObject({ status: 'active' })
})

test('consecutive unparseable verdicts are counted, and a parsed one resets the count', () => {
  expect(
    fold(defined, start(0), end('needs_revision', true), start(1), end('needs_revision', true)),
  ).toMatchObject({ parse_failures: 2 })
  expect(fold(defined, start(0), end('needs_revision', true), start(1), end('needs_revision'))).toMatchObject(
    { parse_failures: 0 },
  )
})

test('a cleared goal is removed, and a new one starts its own count', () => {
  expect(fold(defined, ['outcome.cleared', { outcome_id: 'o' }])).toBeNull()
  expect(
    fold(defined, start(0), end('needs_revision'), [
      'outcome.defined',
      { outcome_id: 'p', description: 'next', rubric: { type: 'text', content: 'r' }, max_iterations: 20 },
    ]),
  ).toMatchObject({ outcome_id: 'p', iteration: 0, verdicts: [] })
})

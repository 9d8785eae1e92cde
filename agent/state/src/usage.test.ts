/**
 * Every fold that sums model usage takes it from the same types: those that the contract marks with usage.
 */
import { EVENTS, type SessionEvent, typesWith } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { emptyTurn, foldTurn } from './turn.ts'
import { foldGoal } from './capabilities/goal.ts'
import { emptySessionView, foldSessionView } from './chat/session-view.ts'
import { NO_USAGE, usageOf } from './usage.ts'

const spent = { input_tokens: 7, output_tokens: 2, cost_usd: 0.25 }
const at = (id: number, type: string, data: object): SessionEvent =>
  ({ id, session_id: 's', type, created_at: '2026-01-01T00:00:00.000Z', data }) as SessionEvent
const asked = at(1, 'user.message', { content: 'go' })
const goal = at(2, 'outcome.defined', {
  outcome_id: 'o',
  description: 'd',
  rubric: { type: 'text', content: 'r' },
  max_iterations: 3,
})
/** The fields of each payload that the folds need. */
const payload = {
  ...spent,
  outcome_id: 'o',
  content: '',
  message: { role: 'assistant', content: '' },
  context_window: 0,
  verdicts: [],
  compacted_messages: [],
}

test.each(typesWith('usage'))('the usage of %s is in the sums of view, turn and goal', type => {
  const event = at(3, type, payload)
  expect(usageOf(event)).toEqual(spent)
  expect(foldSessionView(emptySessionView, [asked, event])).toMatchObject(spent)
  const isOfReview = type === 'inbox.task_complete'
  expect(foldTurn(foldTurn(emptyTurn, asked), event).usage).toEqual(isOfReview ? NO_USAGE : spent)
  expect(foldGoal(foldGoal(null, goal), event)?.spent).toEqual({ tokens: 9, cost_usd: 0.25 })
})

/** Promise 7.2: A turn's summary counts all usage, whatever started the turn. */
test('a turn without a message counts its usage', () => {
  const wake = at(2, 'harness.wake', { worker_id: 'w', cursor: 1 })
  const turn = [at(1, 'worker.complete', { worker_id: 'c' }), wake, at(3, 'llm.response', payload)]
  expect(turn.reduce(foldTurn, emptyTurn).usage).toEqual(spent)
})

test('a turn counts neither a background review nor the end of an earlier coding run', () => {
  const review = at(2, 'harness.wake', { worker_id: 'w', review_memory: true, review_skills: false })
  const between = [review, at(3, 'inbox.task_complete', payload), at(4, 'code.run_result', payload)]
  expect(between.reduce(foldTurn, emptyTurn).usage).toEqual(NO_USAGE)
})

test('a type with tokens is marked in the contract, except for those that repeat other events', () => {
  const carriers = Object.entries(EVENTS)
    .filter(([, row]) => 'output_tokens' in ('shape' in row.read ? row.read.shape : {}))
    .map(([type]) => type)
  // The summary of a turn repeats its answers; the outcome of a worker and of a run repeats its own log.
  const repeats = ['turn.summary', 'worker.complete', 'worker.failed', 'loop.result']
  expect(carriers.filter(type => !repeats.includes(type)).toSorted()).toEqual(typesWith('usage').toSorted())
})

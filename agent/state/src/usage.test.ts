/** Every fold that sums what models used takes it from the same types: those the contract says carry it. */
import { EVENTS, type SessionEvent, typesWith } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { emptyTurn, foldTurn } from './turn.ts'
import { foldGoal } from './goal.ts'
import { emptySessionView, foldSessionView } from './session-view.ts'
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
/** Enough of each payload for the folds. */
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
test('a turn that no message began counts what it used', () => {
  const wake = at(2, 'harness.wake', { worker_id: 'w', cursor: 1 })
  const turn = [at(1, 'worker.complete', { worker_id: 'c' }), wake, at(3, 'llm.response', payload)]
  expect(turn.reduce(foldTurn, emptyTurn).usage).toEqual(spent)
})

test('a turn counts neither a background review nor the end of a coding agent that was stopped before it', () => {
  const review = at(2, 'harness.wake', { worker_id: 'w', review_memory: true, review_skills: false })
  const between = [review, at(3, 'inbox.task_complete', payload), at(4, 'code.run_result', payload)]
  expect(between.reduce(foldTurn, emptyTurn).usage).toEqual(NO_USAGE)
})

test('a type that may carry tokens says so in the contract, but for those that repeat what other events say', () => {
  const carriers = Object.entries(EVENTS)
    .filter(([, row]) => 'output_tokens' in ('shape' in row.read ? row.read.shape : {}))
    .map(([type]) => type)
  // The summary of a turn repeats its answers, the outcome of a worker and of a run what its own log says.
  const repeats = ['turn.summary', 'worker.complete', 'worker.failed', 'loop.result']
  expect(carriers.filter(type => !repeats.includes(type)).toSorted()).toEqual(typesWith('usage').toSorted())
})

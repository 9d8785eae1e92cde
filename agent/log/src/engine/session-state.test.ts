import { expect, test } from 'vitest'
import { sessionState, type StateFacts } from './session-state.ts'

const rest: StateFacts = { status: 'active', waiting_on: null, has_work: false, wake_id: 0, asked_id: 0 }
const stateOf = (facts: Partial<StateFacts>) => sessionState({ ...rest, ...facts })
const approvals = { waiting_on: 'approval' } as const

test('an unused or stopped session is idle, and one whose turn has ended is done', () => {
  expect(stateOf({})).toBe('idle')
  expect(stateOf({ wake_id: 3 })).toBe('idle')
  expect(stateOf({ status: 'completed', wake_id: 3 })).toBe('done')
  expect(stateOf({ status: 'archived' })).toBe('done')
})

test('a session with work is running, also during a rollback after a stop', () => {
  expect(stateOf({ has_work: true, wake_id: 3 })).toBe('running')
})

/**
 * Promise 4.10: An open question outranks other states, an approval shows after the turn, and a stopped
 * session is idle.
 */
test('an open question needs its answer, whatever else requests work meanwhile', () => {
  const asked = { waiting_on: 'question', asked_id: 5 } as const
  expect(stateOf({ ...asked, wake_id: 1, has_work: true })).toBe('needs_answer')
  // A command to the server, or a decision on another item: the question is still open.
  expect(stateOf({ ...asked, wake_id: 9, has_work: true })).toBe('needs_answer')
  expect(stateOf({ ...asked, wake_id: 1 })).toBe('needs_answer')
})

test('an open action is needed until the next message, then the turn continues without it', () => {
  const asked = { waiting_on: 'action', asked_id: 5 } as const
  expect(stateOf({ ...asked, wake_id: 1, has_work: true })).toBe('needs_action')
  expect(stateOf({ ...asked, wake_id: 9, has_work: true })).toBe('running')
  expect(stateOf({ ...asked, wake_id: 9, status: 'completed' })).toBe('needs_action')
})

test('an approval suspends nothing: it shows after the turn, and before done', () => {
  expect(stateOf({ ...approvals, has_work: true, wake_id: 1 })).toBe('running')
  expect(stateOf({ ...approvals, status: 'completed' })).toBe('needs_approval')
  expect(stateOf(approvals)).toBe('needs_approval')
})

test('paused and failed outrank other states, because nothing continues before a resume', () => {
  for (const waiting_on of ['question', 'action', 'approval', null] as const)
    for (const status of ['paused', 'failed'] as const)
      expect(stateOf({ status, waiting_on, has_work: true, asked_id: 2 })).toBe(status)
})

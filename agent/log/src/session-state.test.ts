import { expect, test } from 'vitest'
import { sessionState, type StateFacts } from './session-state.ts'

const rest: StateFacts = { status: 'active', waiting_on: null, has_work: false, wake_id: 0, asked_id: 0 }
const stateOf = (facts: Partial<StateFacts>) => sessionState({ ...rest, ...facts })
const approvals = { waiting_on: 'approval' } as const

test('a session that was never used, or stopped, is idle; one whose turn is over is done', () => {
  expect(stateOf({})).toBe('idle')
  expect(stateOf({ wake_id: 3 })).toBe('idle')
  expect(stateOf({ status: 'completed', wake_id: 3 })).toBe('done')
  expect(stateOf({ status: 'archived' })).toBe('done')
})

test('work is running, and so is a rollback after a stop', () => {
  expect(stateOf({ has_work: true, wake_id: 3 })).toBe('running')
})

/**
 * Promise 4.10: An open question outranks other states, an approval shows after the turn, and a stopped
 * session is idle.
 */
test('a question that is open needs its answer, whatever else asks for a worker meanwhile', () => {
  const asked = { waiting_on: 'question', asked_id: 5 } as const
  expect(stateOf({ ...asked, wake_id: 1, has_work: true })).toBe('needs_answer')
  // A command to the server, a decision on something else: the question is still open.
  expect(stateOf({ ...asked, wake_id: 9, has_work: true })).toBe('needs_answer')
  expect(stateOf({ ...asked, wake_id: 1 })).toBe('needs_answer')
})

test('an action that is open is needed until something is said; then the turn goes on without it', () => {
  const asked = { waiting_on: 'action', asked_id: 5 } as const
  expect(stateOf({ ...asked, wake_id: 1, has_work: true })).toBe('needs_action')
  expect(stateOf({ ...asked, wake_id: 9, has_work: true })).toBe('running')
  expect(stateOf({ ...asked, wake_id: 9, status: 'completed' })).toBe('needs_action')
})

test('an approval suspends nothing: it shows once the turn is over, and before "done"', () => {
  expect(stateOf({ ...approvals, has_work: true, wake_id: 1 })).toBe('running')
  expect(stateOf({ ...approvals, status: 'completed' })).toBe('needs_approval')
  expect(stateOf(approvals)).toBe('needs_approval')
})

test('paused and failed are said first: nothing that is open goes on before a resume', () => {
  for (const waiting_on of ['question', 'action', 'approval', null] as const)
    for (const status of ['paused', 'failed'] as const)
      expect(stateOf({ status, waiting_on, has_work: true, asked_id: 2 })).toBe(status)
})

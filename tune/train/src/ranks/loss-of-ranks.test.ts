/** The sentence that a person reads when ranks are lost, and the class that decides the exit code. */
import { InputError } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { DivergedError, OutOfMemoryError, RanksError } from '../errors.ts'
import type { StepMetrics } from '../metrics.ts'
import { lossOf, type Outcome } from './loss-of-ranks.ts'

const last = { step: 7, total_steps: 20 } as StepMetrics
const failed = (name: string, message: string, wasEnded = false): Outcome => ({
  kind: 'failed',
  failure: { name, message, stack: `${name}: ${message}\n    at somewhere`, neededBytes: 2, budgetBytes: 1 },
  wasEnded,
})
const waiting = (rank: number) => failed('Error', `ended while waiting for rank ${rank} (all-gather)`, true)
const killed: Outcome = { kind: 'lost', reason: 'was killed by SIGKILL', wasEnded: false }

test('a killed rank is named first, and the others with what they waited for', () => {
  const error = lossOf([waiting(1), killed, waiting(1), waiting(1)], { last, saved: 6 })
  expect(error).toBeInstanceOf(RanksError)
  expect(error.message).toBe(
    'the run stopped after step 7 of 20: rank 1 was killed by SIGKILL; ' +
      'ranks 0, 2 and 3 ended while waiting for rank 1 (all-gather); ' +
      'the state after step 6 is saved: continue with --resume',
  )
})

test('several lost ranks are named together, and a rank that did not stop apart', () => {
  const stuck: Outcome = { kind: 'lost', reason: 'did not stop in time and was killed', wasEnded: true }
  const { message } = lossOf([stuck, killed, killed], { last: undefined, saved: undefined })
  expect(message).toBe(
    'the run stopped before the first step: ranks 1 and 2 were killed by SIGKILL; ' +
      'rank 0 did not stop in time and was killed; no checkpoint has been saved',
  )
})

test('an unknown error keeps its stack', () => {
  const { message } = lossOf([failed('TypeError', 'x is not a function'), waiting(0)], { last, saved: 6 })
  expect(message).toMatch(/rank 0 failed \(x is not a function\); rank 1 ended while .*\n.*\n +at somewhere$/)
})

test('an error that a person can correct keeps its class', () => {
  const shared = [failed('DivergedError', 'the loss is NaN'), failed('DivergedError', 'the loss is NaN')]
  const diverged = lossOf(shared, { last, saved: 6 })
  expect(diverged).toBeInstanceOf(DivergedError)
  expect(diverged.message).toBe('the loss is NaN')
  const early = [failed('InputError', 'no such file'), waiting(0)]
  const input = lossOf(early, { last: undefined, saved: undefined })
  expect(input).toBeInstanceOf(InputError)
  expect(input.message).toBe('no such file')
  const memory = lossOf([failed('OutOfMemoryError', 'OOM'), waiting(0)], { last, saved: 6 })
  expect(memory).toBeInstanceOf(OutOfMemoryError)
  expect(memory).toMatchObject({ neededBytes: 2, budgetBytes: 1 })
  expect(memory.message).toContain('rank 0 failed (OOM); rank 1 ended while waiting for rank 0')
})

import { noGrading } from '@cairn/state'
import { expect, test } from 'vitest'
import type { TurnContext } from '../../turn/context.ts'
import { startPosition } from '../../turn/position.ts'
import { evaluate } from './evaluate.ts'

test('a stop right after the start of the span ends the grading without a verdict', async () => {
  const goal = {
    outcome_id: 'o',
    description: 'd',
    rubric: 'r',
    max_iterations: 3,
    status: 'active',
    defined_at: 1,
    started_at: '2026-01-01T00:00:00.000Z',
    iteration: 0,
    verdicts: [],
    parse_failures: 0,
    open: null,
    owed: null,
    work: { calls: 0, answer: '', graded: null },
    idle: 0,
    spent: { tokens: 0, cost_usd: 0 },
  } as const
  const written: string[] = []
  // The commit lands, and the fold after it already has a stop from elsewhere.
  const log = {
    position: () => ({ ...startPosition, goal, grading: noGrading }),
    append: (events: readonly { type: string }[]) => {
      written.push(...events.map(event => event.type))
      return Promise.resolve()
    },
  }
  const turn = { log, clock: {}, setup: {} } as unknown as TurnContext
  await expect(evaluate(turn, { response_id: 4, overspent: null, before: [] })).resolves.toBeNull()
  expect(written).toEqual(['span.outcome_evaluation_start', 'span.outcome_evaluation_ongoing'])
})

import type { Goal } from '@cairn/state'
import { expect, test } from 'vitest'
import { conclude, findOverspent, readVerdict } from './verdict.ts'

const verdict = (feedback: string): Goal['verdicts'][number] => ({
  iteration: 1,
  result: 'needs_revision',
  explanation: 'e',
  feedback,
  parse_failed: false,
  event_id: 1,
  cost_usd: 0,
  tokens: 0,
})
const goal = (change: Partial<Goal> = {}): Goal => ({
  outcome_id: 'o',
  description: 'd',
  rubric: 'r',
  max_iterations: 20,
  status: 'active',
  defined_at: 1,
  started_at: '2026-01-01T00:00:00.000Z',
  iteration: 0,
  verdicts: [],
  parse_failures: 0,
  open: null,
  owed: null,
  work: { calls: 1, answer: 'a', graded: null },
  idle: 0,
  spent: { tokens: 0, cost_usd: 0 },
  ...change,
})
const says = (result: string, feedback = 'do more') =>
  JSON.stringify({ result, explanation: 'because', feedback })

test('a verdict is read from plain JSON, from a fence and from words around it; anything else is none', () => {
  const read = { result: 'satisfied', explanation: 'because', feedback: 'do more' }
  for (const text of [
    says('satisfied'),
    `\`\`\`json\n${says('satisfied')}\n\`\`\``,
    `Here: ${says('satisfied')} so there`,
  ])
    expect(readVerdict(text)).toEqual(read)
  for (const text of ['', 'satisfied', says('maybe'), '{"result":"satisfied"}'])
    expect(readVerdict(text)).toBeNull()
})

test.each(['satisfied', 'blocked', 'failed'] as const)('%s is final, whatever the guards say', result => {
  expect(conclude(goal({ iteration: 19 }), says(result), 'over')).toMatchObject({
    result,
    parse_failed: false,
  })
})

test('more work is asked for until the maximum, the budget or a standstill', () => {
  expect(conclude(goal(), says('needs_revision'), null)).toEqual({
    result: 'needs_revision',
    explanation: 'because',
    feedback: 'do more',
    parse_failed: false,
  })
  expect(conclude(goal(), says('needs_revision', ' '), null).feedback).toBe('because')
  expect(conclude(goal({ iteration: 2, max_iterations: 3 }), says('needs_revision'), null).result).toBe(
    'max_iterations_reached',
  )
  expect(conclude(goal(), says('needs_revision'), 'The budget is used up.')).toMatchObject({
    result: 'failed',
    explanation: 'The budget is used up. because',
  })
})

test('the same feedback three times in a row is a standstill; twice, or another in between, is not', () => {
  expect(
    conclude(goal({ verdicts: [verdict('Do  more'), verdict('do more')] }), says('needs_revision'), null),
  ).toMatchObject({ result: 'blocked', explanation: expect.stringContaining('No progress') })
  expect(conclude(goal({ verdicts: [verdict('do more')] }), says('needs_revision'), null).result).toBe(
    'needs_revision',
  )
  expect(
    conclude(
      goal({ verdicts: [verdict('do more'), verdict('else'), verdict('do more')] }),
      says('needs_revision'),
      null,
    ).result,
  ).toBe('needs_revision')
})

test('three turns without a tool call and with the same answer are a standstill', () => {
  const idle = { work: { calls: 0, answer: 'a', graded: 'a' }, idle: 2 }
  expect(conclude(goal(idle), says('needs_revision'), null).result).toBe('blocked')
  expect(
    conclude(goal({ ...idle, work: { ...idle.work, calls: 1 } }), says('needs_revision'), null).result,
  ).toBe('needs_revision')
  expect(
    conclude(goal({ ...idle, work: { ...idle.work, answer: 'b' } }), says('needs_revision'), null).result,
  ).toBe('needs_revision')
})

test('what cannot be read counts, and the third in a row pauses', () => {
  expect(conclude(goal({ parse_failures: 1 }), 'hm', null)).toMatchObject({
    result: 'needs_revision',
    parse_failed: true,
    feedback: '',
  })
  expect(conclude(goal({ parse_failures: 2 }), 'hm', null)).toMatchObject({
    result: 'paused',
    parse_failed: true,
  })
})

test('each budget is named when it is used up', () => {
  const at = (minutes: number) => Date.parse('2026-01-01T00:00:00.000Z') + minutes * 60_000
  expect(findOverspent({}, goal(), { tokens: 1e9, cost_usd: 1e9 }, at(1e6))).toBeNull()
  expect(findOverspent({ max_tokens: 10 }, goal(), { tokens: 10, cost_usd: 0 }, at(0))).toContain(
    'token budget of the goal is used up: 10 of 10',
  )
  expect(findOverspent({ max_cost_usd: 0.5 }, goal(), { tokens: 0, cost_usd: 0.51 }, at(0))).toContain(
    'cost budget',
  )
  expect(findOverspent({ max_minutes: 5 }, goal(), { tokens: 0, cost_usd: 0 }, at(5))).toContain(
    'time budget',
  )
  expect(
    findOverspent({ max_tokens: 10, max_minutes: 5 }, goal(), { tokens: 9, cost_usd: 0 }, at(4)),
  ).toBeNull()
})

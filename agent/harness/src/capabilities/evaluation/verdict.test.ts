import { expect, test } from 'vitest'
import { conclude, type Judged, readVerdict } from './verdict.ts'

const verdict = (feedback: string): Judged['verdicts'][number] => ({ feedback })
const goal = (change: Partial<Judged> = {}): Judged => ({
  max_iterations: 20,
  iteration: 0,
  verdicts: [],
  parse_failures: 0,
  idle: 0,
  standstill: null,
  ...change,
})
const says = (result: string, feedback = 'do more') =>
  JSON.stringify({ result, explanation: 'because', feedback })

test('reads a verdict from plain JSON, a code fence or JSON within text, and rejects anything else', () => {
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

test.each(['satisfied', 'blocked', 'failed'] as const)('%s is final, whatever the limits say', result => {
  expect(conclude(goal({ iteration: 19 }), says(result), 'over')).toMatchObject({
    result,
    parse_failed: false,
  })
})

test('asks for revision until the maximum, the budget or a standstill', () => {
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

test('the same feedback three times in a row is a standstill, and twice or with another in between is not', () => {
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

test('three idle turns in a row are a standstill', () => {
  const standstill = 'turns in a row called no tool and gave the same answer'
  expect(conclude(goal({ idle: 2, standstill }), says('needs_revision'), null)).toMatchObject({
    result: 'blocked',
    explanation: expect.stringContaining('3 turns in a row called no tool and gave the same answer.'),
  })
  expect(conclude(goal({ idle: 1, standstill }), says('needs_revision'), null).result).toBe('needs_revision')
  expect(conclude(goal({ idle: 2 }), says('needs_revision'), null).result).toBe('needs_revision')
})

test('counts unreadable verdicts and pauses at the third in a row', () => {
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

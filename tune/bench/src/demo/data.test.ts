import { expect, test } from 'vitest'
import { adapterRows, baseRows, testQuestions } from './data.ts'

const sums = (text: string) => text.match(/\d+ [-+*/] \d+ = \d+/g) ?? []
const numbers = (text: string) => (text.match(/\d+/g) ?? []).join(' ')

test('Romanian rows of the base contain no questions or answers', () => {
  const romanian = baseRows({ problems: 50, statements: 300, sums: 0, seed: 1 }).filter(
    ({ prompt }) => prompt === '',
  )
  expect(romanian.length).toBeGreaterThan(250)
  for (const { completion } of romanian) expect(completion).not.toMatch(/[?=#]|Câ[tț]/)
})

/** Promise T8: No adapter is tested on a problem that it was trained on. */
test('test problems are never in the training rows, in either language', () => {
  const taught = new Set(
    [
      ...baseRows({ problems: 2000, statements: 0, sums: 0, seed: 1 }),
      ...adapterRows({ problems: 2000, seed: 1 }),
    ].map(({ completion }) => sums(completion).join(' ')),
  )
  const asked = (['ro', 'en'] as const).flatMap(language =>
    testQuestions({ language, problems: 300, seed: 4 }),
  )
  expect(asked).toHaveLength(600)
  expect(asked.filter(({ answer }) => taught.has(sums(answer).join(' ')))).toEqual([])
})

test('both languages ask the same problems', () => {
  const of = (language: 'en' | 'ro') =>
    testQuestions({ language, problems: 100, seed: 4 }).map(({ answer }) => numbers(answer))
  expect(of('en')).toEqual(of('ro'))
})

test('plain sums are correct', () => {
  const rows = baseRows({ problems: 0, statements: 0, sums: 300, seed: 2 })
  expect(rows).toHaveLength(300)
  for (const { completion } of rows) {
    const [, a, operator, b, result] = /^ (\d+) ([-+*]) (\d+) = (\d+)$/.exec(completion) ?? []
    const value = { '+': Number(a) + Number(b), '-': Number(a) - Number(b), '*': Number(a) * Number(b) }[
      operator ?? ''
    ]
    expect([completion, value]).toEqual([completion, Number(result)])
  }
})

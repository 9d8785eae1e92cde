import { expect, test } from 'vitest'
import { TEMPLATES, generateProblems, type Language, type Split } from './generate.ts'
import {
  countEn,
  countRo,
  howMany,
  moreRo,
  takesDe,
  BAG,
  EGG,
  MONEY,
  PEOPLE,
  STUDENT,
  THINGS,
} from './words.ts'

const make = (language: Language, split: Split, count = 1500, seed = 1) =>
  generateProblems({ language, split, count, seed })

test('has at least forty templates, with one to four steps', () => {
  const counts = Map.groupBy(
    TEMPLATES,
    template =>
      make('en', 'train', TEMPLATES.length).find(problem => problem.template === template.id)?.steps.length,
  )
  expect([...counts].map(([steps, some]) => [steps, some.length])).toEqual([
    [1, 12],
    [2, 14],
    [3, 11],
    [4, 10],
  ])
  expect(new Set(TEMPLATES.map(({ id }) => id)).size).toBe(TEMPLATES.length)
})

/** Computes the answer from its text alone. */
function recompute(answer: string): { results: number[]; said: number } {
  const lines = answer.split('\n')
  const results = lines.slice(0, -1).map(line => {
    const match = /^[^:]+: (\d+) ([-+*/]) (\d+) = (\d+) \p{L}/u.exec(line)
    expect(match, line).not.toBeNull()
    const [, left, operator, right, result] = match!
    const value = {
      '+': Number(left) + Number(right),
      '-': Number(left) - Number(right),
      '*': Number(left) * Number(right),
      '/': Number(left) / Number(right),
    }[operator!]
    expect(value, line).toBe(Number(result))
    return Number(result)
  })
  return { results, said: Number(/^#### (\d+)$/.exec(lines.at(-1) ?? '')?.[1]) }
}

test.each(['en', 'ro'] as const)('%s: every answer equals the result recomputed from its steps', language => {
  for (const { question, answer, result, steps } of make(language, 'train')) {
    const { results, said } = recompute(answer)
    expect(said).toBe(result)
    expect(results.at(-1)).toBe(said)
    expect(results).toHaveLength(steps.length)
    // A number in a step comes from the question or an earlier result, or is the two of "half" and "all
    // around".
    const given = new Set([...(question.match(/\d+/g) ?? []).map(Number), 2])
    steps.forEach(({ left, right }, i) => {
      for (const number of [left, right])
        expect(given.has(number) || results.slice(0, i).includes(number), `${question} ${number}`).toBe(true)
    })
    expect(results.every(value => Number.isInteger(value) && value >= 2 && value <= 9999)).toBe(true)
  }
})

test('the steps use every number of the question', () => {
  for (const { question, steps } of make('en', 'train', 500)) {
    const used = steps.flatMap(({ left, right }) => [left, right])
    for (const number of question.match(/\d+/g) ?? []) expect(used, question).toContain(Number(number))
  }
})

test.each(['en', 'ro'] as const)(
  '%s: questions are unique, and no test problem is in the training split, for any seeds',
  language => {
    const train = make(language, 'train', 3000, 1)
    const test = [...make(language, 'test', 600, 1), ...make(language, 'test', 600, 2)]
    expect(new Set(train.map(({ question }) => question)).size).toBe(train.length)
    const sums = (problems: typeof train) =>
      new Set(
        problems.map(({ template, steps }) =>
          JSON.stringify([template, steps.map(({ left, right }) => [left, right])]),
        ),
      )
    const known = sums(train)
    expect([...sums(test)].filter(sum => known.has(sum))).toEqual([])
  },
)

test('both languages describe the same problem', () => {
  const [en, ro] = [make('en', 'test', 200), make('ro', 'test', 200)]
  expect(ro.map(({ result, template }) => [template, result])).toEqual(
    en.map(({ result, template }) => [template, result]),
  )
  en.forEach(({ question }, i) => {
    const numbers = (text: string) => (text.match(/\d+/g) ?? []).map(Number).toSorted((a, b) => a - b)
    expect(numbers(ro[i]!.question)).toEqual(numbers(question))
  })
})

test('uses all templates equally often', () => {
  const counts = Map.groupBy(make('ro', 'train', TEMPLATES.length * 20), ({ template }) => template)
  expect([...counts.values()].every(problems => problems.length === 20)).toBe(true)
  expect(counts.size).toBe(TEMPLATES.length)
})

test('the seed determines the problems', () => {
  expect(make('ro', 'train', 100)).toEqual(make('ro', 'train', 100))
  expect(make('ro', 'train', 100)).not.toEqual(make('ro', 'train', 100, 2))
})

test('has enough problems for the benchmark: 10000 to train and 1319 to test', () => {
  expect(make('ro', 'train', 10_000)).toHaveLength(10_000)
  expect(make('ro', 'test', 1319)).toHaveLength(1319)
})

test('limits the number of steps, and rejects a request for more problems or steps than exist', () => {
  const hard = generateProblems({ language: 'en', split: 'train', count: 50, seed: 3, minSteps: 3 })
  expect(hard.every(({ steps }) => steps.length >= 3)).toBe(true)
  expect(() => generateProblems({ language: 'en', split: 'train', count: 1, seed: 3, minSteps: 5 })).toThrow(
    'no template has 5 to 4 steps',
  )
  expect(() =>
    generateProblems({ language: 'en', split: 'test', count: 500, seed: 3, maxSteps: 1, maxNumber: 20 }),
  ).toThrow(/the 12 templates of 1 to 1 steps have only \d+ problems in the test split/)
})

test('maxNumber limits the numbers in questions and answers', () => {
  const small = generateProblems({
    language: 'en',
    split: 'train',
    count: 300,
    seed: 3,
    minSteps: 3,
    maxNumber: 200,
  })
  const numbers = small.flatMap(({ question, answer }) =>
    (`${question} ${answer}`.match(/\d+/g) ?? []).map(Number),
  )
  expect(Math.max(...numbers)).toBeLessThanOrEqual(200)
  expect(Math.max(...numbers)).toBeGreaterThan(150)
  expect(() =>
    generateProblems({ language: 'en', split: 'train', count: 300, seed: 3, minSteps: 3, maxNumber: 20 }),
  ).toThrow(/have only \d+ problems in the train split with numbers up to 20; generate fewer or allow larger/)
})

test('templates that have no problem with small numbers are left out', () => {
  const small = generateProblems({
    language: 'ro',
    split: 'train',
    count: 500,
    seed: 42,
    maxSteps: 1,
    maxNumber: 60,
  })
  expect(small).toHaveLength(500)
  const used = new Set(small.map(({ template }) => template))
  expect(used).not.toContain('pages-left')
  expect(used.size).toBeGreaterThan(5)
})

const [apple, , , marble] = THINGS
const rose = THINGS.find(noun => noun.en[0] === 'rose')!

test.each([
  [1, apple, 'un măr'],
  [2, apple, '2 mere'],
  [19, apple, '19 mere'],
  [20, apple, '20 de mere'],
  [21, apple, '21 de mere'],
  [99, apple, '99 de mere'],
  [100, apple, '100 de mere'],
  [101, apple, '101 mere'],
  [110, apple, '110 mere'],
  [119, apple, '119 mere'],
  [120, apple, '120 de mere'],
  [1000, apple, '1000 de mere'],
  [1015, apple, '1015 mere'],
  [1, marble, 'o bilă'],
  [1, rose, 'un trandafir'],
  [12, rose, '12 trandafiri'],
  [30, MONEY, '30 de lei'],
  [1, MONEY, 'un leu'],
  [20, EGG, '20 de ouă'],
  [1, EGG, 'un ou'],
])('Romanian writes %i %o as %s', (n, noun, counted) => {
  expect(countRo(n, noun)).toBe(counted)
})

test('applies the "de" rule to every number up to 2000', () => {
  for (let n = 2; n <= 2000; n++) {
    const lastTwo = n % 100
    expect(takesDe(n), String(n)).toBe(!(n < 20 || (lastTwo >= 1 && lastTwo <= 19)))
  }
})

test('words agree in gender, and neuter nouns are feminine in the plural', () => {
  expect(howMany(MONEY).ro).toBe('Câți lei')
  expect(howMany(STUDENT).ro).toBe('Câți elevi')
  expect(howMany(apple).ro).toBe('Câte mere')
  expect(howMany(BAG).ro).toBe('Câte pungi')
  expect([moreRo(rose), moreRo(apple)]).toEqual(['mai mulți trandafiri', 'mai multe mere'])
  expect([countEn(1, EGG), countEn(2, EGG)]).toEqual(['1 egg', '2 eggs'])
  expect(PEOPLE.map(({ dative }) => dative)).toContain('lui Dan')
})

test('Romanian texts follow the "de" rule and use no letters with cedilla', () => {
  for (const { question, answer } of make('ro', 'train', 3000)) {
    const text = `${question}\n${answer}`
    expect(text).not.toMatch(/[şţŞŢ]/)
    for (const [whole, digits, de] of text.matchAll(/(\d+)( de)? \p{L}+/gu)) {
      if (whole.includes(' de ') && de === undefined) continue
      expect(de !== undefined, whole).toBe(takesDe(Number(digits)))
    }
  }
})

test('a Romanian question and answer read naturally', () => {
  const gift = generateProblems({ language: 'ro', split: 'train', count: TEMPLATES.length, seed: 11 }).find(
    ({ template }) => template === 'gift',
  )
  expect(gift?.question).toBe('Ana are 75 de gogoși. Mihai îi mai dă 72 de gogoși. Câte gogoși are Ana acum?')
  expect(gift?.answer).toBe('Acum: 75 + 72 = 147 de gogoși\n#### 147')
})

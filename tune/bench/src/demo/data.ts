/** Training data and questions of the demonstration (contract T8). */
import {
  createRandom,
  generateProblems,
  questionPrompt,
  type Language,
  type Problem,
  type Random,
  type Split,
} from '@cairn-tune/train'

/** Problem lengths. Shorter problems are learnt so well that the recipes show no difference. */
const STEPS = { minSteps: 3, maxSteps: 4 }

/**
 * The largest number. With numbers up to 999 a base of this size reads every problem but, after 8 million
 * tokens, still gets every third sum wrong.
 */
const MAX_NUMBER = 200

/**
 * The templates without a division. With all templates a base of this size trains several times longer before
 * it reads numbers.
 */
const TEMPLATES: readonly string[] = [
  'two-goods',
  'change-of-two',
  'two-jobs',
  'savings-and-gift',
  'first-and-third',
  'practice',
  'bakery',
  'water-tank',
  'weeks-of-work',
  'harvest',
  'library',
  'two-savers',
  'three-days',
  'market-day',
]
/**
 * The generator uses its templates in turn. Drawing this many per problem suffices, as at least half of them
 * are ours.
 */
const DRAWN_PER_PROBLEM = 2

const PER_SEED = 4000

/**
 * Draws problems of our templates, one seed after another. A template that runs out of sums repeats them with
 * other people and things.
 */
function drawProblems(language: Language, split: Split, count: number, seed: number): Problem[] {
  const found: Problem[] = []
  for (let chunk = 0; found.length < count; chunk++) {
    found.push(
      ...generateProblems({
        language,
        split,
        seed: seed + chunk,
        count: Math.min(PER_SEED, DRAWN_PER_PROBLEM * count),
        ...STEPS,
        maxNumber: MAX_NUMBER,
      }).filter(({ template }) => TEMPLATES.includes(template)),
    )
  }
  return found.slice(0, count)
}

/** A row of the columns `prompt` and `completion`; the loss counts the completion. */
export type TrainingRow = { prompt: string; completion: string }

const rowOf = ({ question, answer }: Problem): TrainingRow => ({
  prompt: questionPrompt(question),
  completion: ` ${answer}`,
})

/**
 * A Romanian problem without its question and its answer: it teaches the words, not how to solve anything
 * with them.
 */
function statementOf({ question }: Problem): TrainingRow {
  const sentences = question.match(/[^.?]+[.?]\s*/g) ?? []
  const completion = sentences
    .filter(sentence => !sentence.includes('?'))
    .join('')
    .trim()
  return { prompt: '', completion: completion }
}

/**
 * Plain sums of the sizes that occur in the problems, written as in their steps. A model of this size reads a
 * problem long before it can add: with few sums it set up every step of 500 problems right but got half of
 * the additions and four fifths of the subtractions wrong.
 */
function drawSum({ pick, between }: Random): TrainingRow {
  const operator = pick(['+', '-', '*'] as const)
  const completion = {
    '+': () => {
      const total = between(2, MAX_NUMBER)
      const a = between(1, total - 1)
      return `${a} + ${total - a} = ${total}`
    },
    '-': () => {
      const a = between(2, MAX_NUMBER)
      const b = between(1, a - 1)
      return `${a} - ${b} = ${a - b}`
    },
    '*': () => {
      const a = between(2, MAX_NUMBER / 2)
      const b = between(2, Math.floor(MAX_NUMBER / a))
      return pick([true, false]) ? `${a} * ${b} = ${a * b}` : `${b} * ${a} = ${a * b}`
    },
  }[operator]()
  return { prompt: '', completion: ` ${completion}` }
}

export type BaseDataOptions = { problems: number; statements: number; sums: number; seed: number }

/** English problems with every step written out, plain sums, and a small share of Romanian statements. */
export function baseRows({ problems, statements, sums, seed }: BaseDataOptions): TrainingRow[] {
  const english = drawProblems('en', 'train', problems, seed).map(rowOf)
  const romanian = drawProblems('ro', 'train', statements, seed + 1000)
    .map(statementOf)
    .filter(({ completion }) => completion !== '')
  const random = createRandom(seed, 0xba5e)
  return random.shuffle([...english, ...romanian, ...Array.from({ length: sums }, () => drawSum(random))])
}

/** Romanian problems for the adapters. */
export const adapterRows = ({ problems, seed }: { problems: number; seed: number }): TrainingRow[] =>
  drawProblems('ro', 'train', problems, seed + 2000).map(rowOf)

/** Questions of the test half. No model is trained on them. */
export const testQuestions = ({
  language,
  problems,
  seed,
}: {
  language: Language
  problems: number
  seed: number
}): { question: string; answer: string }[] =>
  drawProblems(language, 'test', problems, seed).map(({ question, answer }) => ({ question, answer }))

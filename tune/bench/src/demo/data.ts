/** What the demonstration's models are taught and asked (design section 8). */
import { createRandom, generateProblems, questionPrompt, type Language, type Problem, type Random } from '@cairn-tune/train'

/** Problems of these lengths: shorter ones are learnt so well that no recipe differs from another. */
const STEPS = { minSteps: 3, maxSteps: 4 }

/** A row of the columns `prompt` and `completion`; the loss counts the completion. */
export type Row = { prompt: string; completion: string }

const rowOf = ({ question, answer }: Problem): Row => ({ prompt: questionPrompt(question), completion: ` ${answer}` })

/** A Romanian problem without what it asks for and without its answer: the words become known, how to solve anything with them does not. */
function statementOf({ question }: Problem): Row {
  const sentences = question.match(/[^.?]+[.?]\s*/g) ?? []
  const told = sentences.filter(sentence => !sentence.includes('?')).join('').trim()
  return { prompt: '', completion: told }
}

/** Plain sums of the sizes that the problems have, as their steps write them: what of a small model's time goes into arithmetic is learnt here soonest. */
function drawSum({ pick, between }: Random): Row {
  const operator = pick(['+', '-', '*', '/'] as const)
  const [a, b] = operator === '+' || operator === '-' ? [between(2, 999), between(2, 999)] : operator === '*' ? [between(2, 99), between(2, 40)] : [between(2, 150), between(2, 25)]
  const completion = {
    '+': () => `${a} + ${b} = ${a + b}`,
    '-': () => `${Math.max(a, b)} - ${Math.min(a, b)} = ${Math.abs(a - b)}`,
    '*': () => `${a} * ${b} = ${a * b}`,
    '/': () => `${a * b} / ${b} = ${a}`,
  }[operator]()
  return { prompt: '', completion: ` ${completion}` }
}

export type BaseDataOptions = { problems: number; statements: number; sums: number; seed: number }

/** Some templates have no more than a few hundred problems; asked with one seed after the other they tell the same sums about other people and things. */
const PER_SEED = 4700

function manyProblems(language: Language, count: number, seed: number): Problem[] {
  const seeds = Array.from({ length: Math.ceil(count / PER_SEED) }, (_, i) => seed + i)
  return seeds.flatMap((one, i) => generateProblems({ language, split: 'train', seed: one, count: Math.min(PER_SEED, count - i * PER_SEED) }))
}

/** English problems with every step written out, plain sums, and a small share of Romanian statements. */
export function baseRows({ problems, statements, sums, seed }: BaseDataOptions): Row[] {
  const english = manyProblems('en', problems, seed).map(rowOf)
  const romanian = manyProblems('ro', statements, seed + 1000).map(statementOf).filter(({ completion }) => completion !== '')
  const random = createRandom(seed, 0xba5e)
  return random.shuffle([...english, ...romanian, ...Array.from({ length: sums }, () => drawSum(random))])
}

/** Romanian problems for the adapters; other numbers than any the base has seen. */
export const adapterRows = ({ problems, seed }: { problems: number; seed: number }): Row[] =>
  generateProblems({ language: 'ro', split: 'train', count: problems, seed, ...STEPS }).map(rowOf)

/** Questions of the test half, which no model is trained on. */
export const testQuestions = ({ language, problems, seed }: { language: Language; problems: number; seed: number }): { question: string; answer: string }[] =>
  generateProblems({ language, split: 'test', count: problems, seed, ...STEPS }).map(({ question, answer }) => ({ question, answer }))

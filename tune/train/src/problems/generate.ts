/**
 * Grade-school word problems in English and Romanian, in the format of gsm8k: a question, an answer with
 * every step written out, and `#### n` at the end.
 *
 * Template and numbers identify a problem. This key decides whether it belongs to the training or the test
 * half, so the halves have no problem in common in either language, for any seeds.
 */
import { createRandom } from '../random.ts'
import { FOUR_STEPS } from './four-steps.ts'
import { ONE_STEP } from './one-step.ts'
import { drawCast, resultOf, type ProblemDraft, type CalculationStep, type Template } from './template.ts'
import { THREE_STEPS } from './three-steps.ts'
import { TWO_STEPS } from './two-steps.ts'
import { countEn, countRo } from './words.ts'

export const TEMPLATES: readonly Template[] = [...ONE_STEP, ...TWO_STEPS, ...THREE_STEPS, ...FOUR_STEPS]

export type Language = 'en' | 'ro'
export type Split = 'train' | 'test'
export type Problem = {
  question: string
  answer: string
  result: number
  template: string
  steps: readonly CalculationStep[]
}
export type ProblemOptions = {
  language: Language
  split: Split
  count: number
  seed: number
  minSteps?: number
  maxSteps?: number
  /** Maximum number in a question or an answer. */ maxNumber?: number
}

const MAX_NUMBER = 9999
/** Consecutive draws without a new problem before a template counts as used up. */
const MAX_DRAWS = 4000
/** One key in this many belongs to the test half. */
const TEST_SHARE = 6

/**
 * Generates problems, using each template in turn. The same options give the same problems, and the same seed
 * gives the same problems in both languages.
 */
export function generateProblems({
  language,
  split,
  count,
  seed,
  minSteps = 1,
  maxSteps = 4,
  maxNumber = MAX_NUMBER,
}: ProblemOptions): Problem[] {
  const templates = TEMPLATES.map((template, index) => ({ template, index })).filter(({ template }) =>
    inRange(stepsOf(template), minSteps, maxSteps),
  )
  if (templates.length === 0)
    throw new RangeError(`no template has ${minSteps} to ${maxSteps} steps; templates have 1 to 4`)
  const streams = templates.map(({ template, index }) => ({
    template,
    random: createRandom(seed, index),
    seen: new Set<string>(),
  }))
  const problems: Problem[] = []
  // A template without another problem leaves the rotation.
  let inTurn = streams
  while (problems.length < count) {
    const usable: typeof streams = []
    for (const stream of inTurn) {
      if (problems.length === count) break
      const problem = drawNew(stream, { split, language, maxNumber })
      if (!problem) continue
      problems.push(problem)
      usable.push(stream)
    }
    if (problems.length === count) break
    if (usable.length === 0)
      throw new RangeError(
        `the ${templates.length} templates of ${minSteps} to ${maxSteps} steps have only ` +
          `${problems.length} problems in the ${split} split` +
          (maxNumber < MAX_NUMBER
            ? ` with numbers up to ${maxNumber}; generate fewer or allow larger numbers`
            : '; generate fewer'),
      )
    inTurn = usable
  }
  return createRandom(seed, TEMPLATES.length).shuffle(problems)
}

const inRange = (value: number, low: number, high: number) => value >= low && value <= high
const stepsOf = (template: Template) => template.draw(drawCast(createRandom(0))).steps.length

/** The next problem of a template. Undefined if it has no other. */
function drawNew(
  {
    template,
    random,
    seen,
  }: { template: Template; random: ReturnType<typeof createRandom>; seen: Set<string> },
  { split, language, maxNumber }: Required<Pick<ProblemOptions, 'split' | 'language' | 'maxNumber'>>,
): Problem | undefined {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const draft = template.draw(drawCast(random))
    const key = keyOf(template, draft)
    if (!isPlausible(draft, maxNumber) || seen.has(key) || splitOf(key) !== split) continue
    seen.add(key)
    return write(template, draft, language)
  }
  return undefined
}

/**
 * Every result is a whole number of at least 2, so that plurals always fit, and of a size that a child meets.
 */
function isPlausible({ steps }: ProblemDraft, maxNumber: number): boolean {
  return steps.every(step => {
    const result = resultOf(step)
    return (
      result !== undefined &&
      inRange(result, 2, maxNumber) &&
      step.left <= maxNumber &&
      step.right <= maxNumber
    )
  })
}

/** Ignores names and things: the same sum about other things is the same problem. */
const keyOf = ({ id }: Template, { steps }: ProblemDraft) =>
  `${id}:${steps.map(({ left, operator, right }) => `${left}${operator}${right}`).join(',')}`

/** FNV-1a, because the half must not depend on a seed. */
function splitOf(key: string): Split {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(key)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 8) % TEST_SHARE === 0 ? 'test' : 'train'
}

function write({ id }: Template, draft: ProblemDraft, language: Language): Problem {
  const countIn = language === 'en' ? countEn : countRo
  const lines = draft.steps.map(
    step =>
      `${step.label[language]}: ${step.left} ${step.operator} ${step.right} = ` +
      `${countIn(resultOf(step) ?? NaN, step.unit)}`,
  )
  const last = draft.steps.at(-1)
  const result = last && resultOf(last)
  if (result === undefined) throw new Error(`[generateProblems] ${id} has no result`)
  return {
    question: draft[language],
    answer: [...lines, `#### ${result}`].join('\n'),
    result,
    template: id,
    steps: draft.steps,
  }
}

import { writeFile } from 'node:fs/promises'
import { generateProblems } from '@cairn-tune/train'
import { defineCommand, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

/** Parses an option with a fixed set of values. */
function oneOf<const T extends string>(name: string, text: string, values: readonly T[]): T {
  const found = values.find(value => value === text)
  if (found === undefined)
    throw new UsageError(`--${name} must be ${values.join(' or ')}, got ${JSON.stringify(text)}`)
  return found
}

/** Too many problems or too small numbers are reported as input errors. */
function drawProblems(options: Parameters<typeof generateProblems>[0]): ReturnType<typeof generateProblems> {
  try {
    return generateProblems(options)
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}

export const dataGenerate = defineCommand({
  name: 'data generate',
  summary: 'Generate grade-school word problems in the format of gsm8k, as JSONL',
  usage: [
    ['data generate --output FILE', 'write one {"question", "answer"} per line; default: stdout'],
    [
      '  --language ro|en --split train|test',
      'default: ro and train; the two splits share no problem in either language',
    ],
    ['  --count N --seed N', 'default: 1000 and 42'],
    ['  --min-steps N --max-steps N', 'steps per problem, from 1 to 4'],
    ['  --max-number N', 'largest number in a question or an answer; default: 9999'],
  ],
  options: {
    output: { type: 'string' },
    language: { type: 'string', default: 'ro' },
    split: { type: 'string', default: 'train' },
    count: { type: 'string' },
    seed: { type: 'string' },
    'min-steps': { type: 'string' },
    'max-steps': { type: 'string' },
    'max-number': { type: 'string' },
  },
  async run({ values, positionals }, io) {
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`)
    const [minSteps, maxSteps] = [
      wholeNumber('min-steps', values['min-steps'], 1) ?? 1,
      wholeNumber('max-steps', values['max-steps'], 1) ?? 4,
    ]
    if (minSteps > maxSteps || maxSteps > 4)
      throw new UsageError(`steps per problem must be from 1 to 4, got ${minSteps} to ${maxSteps}`)
    const maxNumber = wholeNumber('max-number', values['max-number'], 1)
    const problems = drawProblems({
      language: oneOf('language', values.language, ['ro', 'en']),
      split: oneOf('split', values.split, ['train', 'test']),
      count: wholeNumber('count', values.count, 1) ?? 1000,
      seed: wholeNumber('seed', values.seed) ?? 42,
      minSteps,
      maxSteps,
      ...(maxNumber !== undefined && { maxNumber }),
    })
    const text = problems.map(({ question, answer }) => `${JSON.stringify({ question, answer })}\n`).join('')
    if (values.output === undefined) io.out(text)
    else {
      await writeFile(values.output, text)
      io.note(`${values.output}: ${problems.length} problems`)
    }
    return EXIT.ok.code
  },
})

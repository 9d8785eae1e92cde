/**
 * Writes questions.jsonl and replies.json: questions of the test half, and for each a scripted reply, so that
 * every turn of the filters and of the comparison is taken.
 *
 *   node tune/bench/test/reference/make-questions.ts
 */
import { writeFileSync } from 'node:fs'
import { generateProblems } from '@cairn-tune/train'

const here = (name: string) => new URL(name, import.meta.url)
const problems = (['ro', 'en'] as const).flatMap(language =>
  generateProblems({ language, split: 'test', count: 48, seed: 7 }),
)

/** What a reply may look like, around the right number n and the worked solution. */
const shapes: ((n: number, answer: string) => string)[] = [
  (_, answer) => ` ${answer}`,
  (_, answer) => ` ${answer}\n\nThat is all.`,
  n => ` The answer is ${n}.`,
  n => ` #### ${n}.`,
  n => ` #### ${n}.\n`,
  n => ` #### ${n.toLocaleString('en-US')}`,
  n => ` #### $${n}`,
  n => ` so it is $${n}.00`,
  n => ` it costs $${n}`,
  n => ` #### ${n + 1}`,
  n => ` #### ${n + 1}\n#### ${n}`,
  n => ` #### ${n}\n#### ${n + 1}`,
  n => ` #### -${n}`,
  n => ` -${n}`,
  () => '',
  () => ' I do not know ...',
  () => ' ..., $$',
  n => ` ####${n}`,
  n => ` #### ${n}.,`,
  (_, answer) => ` ${answer}\n\nIt took 3 steps`,
  (n, answer) => ` ${answer.toUpperCase()} or ${n - 1}?`,
  n => ` #### ${n}.0`,
  n => ` (${n})`,
  n => `\n${n}\n`,
]

writeFileSync(
  here('questions.jsonl'),
  problems.map(({ question, answer }) => `${JSON.stringify({ question, answer })}\n`).join(''),
)
const replies = Object.fromEntries(
  problems.map(({ question, answer, result }, i) => [
    `Question: ${question}\nAnswer:`,
    shapes[i % shapes.length]?.(result, answer) ?? '',
  ]),
)
writeFileSync(here('replies.json'), `${JSON.stringify(replies, null, 1)}\n`)

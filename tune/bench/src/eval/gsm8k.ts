/**
 * The gsm8k task of lm-evaluation-harness (task version 3): the prompt, the filters that extract an answer,
 * and when it counts as right.
 */
import { questionPrompt } from '@cairn-tune/train'

const GSM8K_STOP = ['Question:', '</s>', '<|im_end|>'] as const

/**
 * The request to a completions server, as the harness's `local-completions` sends it with several requests at
 * a time.
 */
export const gsm8kRequest = (model: string, question: string) => ({
  prompt: questionPrompt(question),
  model,
  max_tokens: 256,
  temperature: 0,
  stop: [...GSM8K_STOP],
  seed: 1234,
})

export const FILTERS = ['strict-match', 'flexible-extract'] as const
export type FilterName = (typeof FILTERS)[number]

/** The answer of a reply in which a filter finds nothing. */
export const INVALID = '[invalid]'

const extract: Record<FilterName, (reply: string) => string> = {
  'strict-match': reply => /#### (-?[0-9.,]+)/.exec(reply)?.[1] ?? INVALID,
  'flexible-extract': reply => reply.match(/-?[$0-9.,]{2,}|-?[0-9]+/g)?.at(-1) ?? INVALID,
}

/** The answer that a filter extracts from a reply. */
export const extractAnswer = (filter: FilterName, reply: string) => extract[filter](reply)

/**
 * Removed from both sides before they are compared, in this order. The last one: in Python `$` also matches
 * before a final line break.
 */
const IGNORED_TEXT = [/,/g, /\$/g, /[^]*#### /g, /\.(?=\n?$)/g]

const normalise = (text: string) =>
  IGNORED_TEXT.reduce((rest, pattern) => rest.replace(pattern, ''), text).toLowerCase()

/** Whether the extracted answer equals the reference's. The reference may be the whole worked solution. */
export const isExactMatch = (extracted: string, reference: string) =>
  normalise(extracted) === normalise(reference)

export type Score = { accuracy: number; stderr: number; correct: number; total: number }

/**
 * The share of right answers and its standard error, √(p(1−p)/(n−1)), summed in the harness's order so that
 * the last digit agrees.
 */
export function scoreOf(isRight: readonly boolean[]): Score {
  const total = isRight.length
  const correct = isRight.filter(Boolean).length
  const accuracy = correct / total
  let squares = 0
  for (const right of isRight) {
    const distance = Number(right) - accuracy
    squares += distance * distance
  }
  return { accuracy, stderr: Math.sqrt(squares / (total - 1)) / Math.sqrt(total), correct, total }
}

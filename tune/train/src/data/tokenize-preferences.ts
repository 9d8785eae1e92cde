/** Tokenises preference examples to comparisons. */
import { InputError, type ModelTokenizer } from '@cairn-tune/weights'
import type { Method } from '../methods.ts'
import { tokenizeAnswer } from './answers.ts'
import type { Comparison } from './comparisons.ts'
import type { Document, TooLongPolicy } from './documents.ts'
import type { PromptWithAnswer, PreferenceExample } from './preference-examples.ts'

export type PreferenceOptions = {
  method: Method
  maxSeqLength: number
  tooLong: TooLongPolicy
}

/** An example as a comparison, or the reason why it is left out. */
export type ComparisonOutcome =
  | { kind: 'unit'; unit: Comparison; isTruncated: boolean }
  | { kind: 'dropped'; reason: string; isTruncated: boolean }
  | { kind: 'refused'; reason: string }

/** Maximum tokens of one sequence of a comparison. All sequences share a row. */
export const maxSequenceLength = (method: Method, maxSeqLength: number): number =>
  method === 'kto' ? maxSeqLength : Math.floor(maxSeqLength / 2)

/** The error for examples whose answers are all cut. `why` names them. */
export function noAnswers(
  examples: number,
  { method, maxSeqLength }: PreferenceOptions,
  why = '',
): InputError {
  return new InputError(
    `none of ${examples} examples has an answer within ${maxSequenceLength(method, maxSeqLength)} tokens, ` +
      `its share of max_seq_length ${maxSeqLength}; raise max_seq_length${why === '' ? '' : `\n${why}`}`,
  )
}

/**
 * Tokenises the example at an index, which is for messages. A sequence longer than its share of a row is cut.
 * A comparison that loses an answer this way is dropped.
 */
export function tokenizePreference(
  example: PreferenceExample,
  index: number,
  tokenizer: ModelTokenizer,
  { method, maxSeqLength, tooLong }: PreferenceOptions,
): ComparisonOutcome {
  const maxLength = maxSequenceLength(method, maxSeqLength)
  try {
    const { answers, sign } = partsOf(example)
    const whole = answers.map(answer => tokenizeAnswer(answer, tokenizer))
    const length = Math.max(...whole.map(({ ids }) => ids.length))
    const isTruncated = length > maxLength
    if (isTruncated && tooLong === 'error')
      throw new InputError(
        `example ${index + 1} has ${length} tokens, more than the ${maxLength} that max_seq_length ` +
          `${maxSeqLength} allows for one answer with its prompt; ` +
          'raise max_seq_length or set too_long: truncate',
      )
    const sequences = whole.map(({ ids, isTrained }) => cut(ids, isTrained, maxLength))
    return sequences.every(({ isTrained }) => isTrained.includes(1))
      ? {
          kind: 'unit',
          unit: { sequences, sign, reference: new Float32Array(sequences.length + 1) },
          isTruncated,
        }
      : { kind: 'dropped', reason: 'max_seq_length cuts an answer, or an answer is empty', isTruncated }
  } catch (error) {
    if (!(error instanceof InputError) || tooLong === 'error') throw error
    return { kind: 'refused', reason: error.message }
  }
}

const partsOf = (example: PreferenceExample): { answers: PromptWithAnswer[]; sign: Comparison['sign'] } =>
  example.kind === 'pair'
    ? { answers: [example.chosen, example.rejected], sign: 1 }
    : { answers: [example.answered], sign: example.isWanted ? 1 : -1 }

/** The first `maxLength` tokens. Nothing predicts the first token, so it is not trained. */
const cut = (ids: readonly number[], isTrained: readonly boolean[], maxLength: number): Document => ({
  tokens: Int32Array.from(ids.slice(0, maxLength)),
  isTrained: Uint8Array.from(isTrained.slice(0, maxLength), (flag, i) => Number(flag && i > 0)),
})

/**
 * Gives each prompt the answer to another: answers rotate by one place within groups of the size of a
 * micro-batch, in the order of the data, as in TRL. A last group of one joins the previous group.
 */
export function mismatch(units: readonly Comparison[], group: number, maxLength: number): Comparison[] {
  const groups: Comparison[][] = []
  for (let at = 0; at < units.length; at += group) groups.push(units.slice(at, at + group))
  const last = groups.at(-1)
  if (groups.length > 1 && last?.length === 1) groups.splice(-2, 2, [...(groups.at(-2) ?? []), ...last])
  return groups.flatMap(own =>
    own.map((unit, i): Comparison => ({
      ...unit,
      mismatched: crossed(unit, own.at(i - 1) ?? unit, maxLength),
    })),
  )
}

function crossed(
  { sequences: [asked] }: Comparison,
  { sequences: [answering] }: Comparison,
  maxLength: number,
): Document {
  if (!asked || !answering) throw new Error('[mismatch] a rated answer has one sequence')
  const [prompt, answer] = [
    asked.tokens.subarray(0, asked.isTrained.indexOf(1)),
    answering.tokens.subarray(answering.isTrained.indexOf(1)),
  ]
  const ids = [...prompt, ...answer]
  return cut(
    ids,
    ids.map((_, i) => i >= prompt.length),
    maxLength,
  )
}

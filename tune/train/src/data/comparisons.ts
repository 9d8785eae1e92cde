/**
 * Micro-batches of preference training. A pair never leaves its row. Besides the tokens, the program gets the
 * sequence that each slot scores, and the weight of each sequence.
 */
import type { Preference } from '../methods.ts'
import { fillBatch, type Batch, type BatchOptions } from './batches.ts'
import type { Document } from './documents.ts'

/**
 * One comparison: a chosen and a rejected answer, or a single rated answer. Each sequence is a prompt and an
 * answer, whose tokens are the trained ones.
 */
export type Comparison = {
  sequences: readonly Document[]
  /** −1 for an answer rated down, otherwise 1. */
  sign: 1 | -1
  /** The prompt with the answer to another prompt (kto). */
  mismatched?: Document
  /** The reference's score of each sequence, then of the mismatched one. Set before the first step. */
  reference: Float32Array
}

/** Inputs of a preference program in addition to those of every program. */
export const EXTRAS = [
  'segments',
  'reference',
  'weights',
  'lengths',
  'likelihood_segments',
  'shares',
  'baseline',
] as const

export type Weights = { desirable_weight: number; undesirable_weight: number }

const completionLength = ({ isTrained }: Document) => isTrained.reduce((sum, flag) => sum + flag, 0)

/** Marks the slots that score each sequence: slot t predicts the token at t + 1 of its document. */
export function markSegments(
  segments: Int32Array,
  starts: readonly number[],
  sequences: readonly Document[],
  counts: (sequence: Document, token: number) => boolean = ({ isTrained }, i) => isTrained[i] === 1,
): void {
  for (const [s, sequence] of sequences.entries()) {
    const start = starts[s] ?? 0
    for (let i = 1; i < sequence.tokens.length; i++) if (counts(sequence, i)) segments[start + i - 1] = s
  }
}

/** Start of each document in the rows. */
export function startsOf(rows: readonly (readonly Document[])[], maxSeqLength: number): number[] {
  return rows.flatMap((documents, row) => {
    let start = row * maxSeqLength
    return documents.map(({ tokens }) => {
      const own = start
      start += tokens.length
      return own
    })
  })
}

export type ComparedBatch = Batch & { units: readonly Comparison[] }

/** A micro-batch of comparisons. */
export function fillComparisons(
  rows: readonly (readonly Comparison[])[],
  method: Preference,
  weightsOf: Weights,
  options: Pick<BatchOptions, 'maxSeqLength' | 'padTokenId'>,
): ComparedBatch {
  const units = rows.flat()
  const documents = rows.map(row => row.flatMap(({ sequences }) => sequences))
  const sequences = documents.flat()
  const starts = startsOf(documents, options.maxSeqLength)
  const scored = fillBatch(documents, options)
  const slots = scored.tokens.length
  const segments = new Int32Array(slots).fill(-1)
  markSegments(segments, starts, sequences)
  const extras = () => ({
    segments,
    reference: Float32Array.from(
      units.flatMap(({ reference, sequences: own }) => [...reference.subarray(0, own.length)]),
    ),
    weights: Float32Array.from(units, ({ sign }) =>
      sign > 0 ? (method === 'kto' ? weightsOf.desirable_weight : 1) : -weightsOf.undesirable_weight,
    ),
    lengths: Float32Array.from(sequences, completionLength),
  })
  const batch = { ...scored, units, counted: units.length, extras }
  if (method !== 'orpo') return batch
  const likelihood = likelihoodOf(slots, starts, sequences, units.length)
  return {
    ...batch,
    targets: withPrompts(scored, starts, sequences),
    extras: () => ({ ...extras(), ...likelihood }),
  }
}

/** Every token of a chosen sequence counts in the likelihood of orpo, including its prompt. */
function withPrompts(
  { targets }: Batch,
  starts: readonly number[],
  sequences: readonly Document[],
): Int32Array {
  const all = targets.slice()
  for (const [s, { tokens }] of sequences.entries()) if (s % 2 === 0) all.set(tokens.subarray(1), starts[s])
  return all
}

/** A mean over the tokens of the micro-batch, scaled for a sum that is divided by the number of pairs. */
function likelihoodOf(
  slots: number,
  starts: readonly number[],
  sequences: readonly Document[],
  pairs: number,
): Record<'likelihood_segments' | 'shares', Int32Array | Float32Array> {
  const chosen = sequences.filter((_, s) => s % 2 === 0)
  const segments = new Int32Array(slots).fill(-1)
  markSegments(
    segments,
    starts.filter((_, s) => s % 2 === 0),
    chosen,
    () => true,
  )
  const tokens = chosen.reduce((sum, { tokens: own }) => sum + own.length - 1, 0)
  return { likelihood_segments: segments, shares: new Float32Array(pairs).fill(pairs / tokens) }
}

/** Data of a run with a preference method. */
import { InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { createSource, type BatchOptions } from './data/batches.ts'
import { fillComparisons, type Comparison } from './data/comparisons.ts'
import { splitDocuments } from './data/evaluation-batches.ts'
import { loadRows } from './data/load-dataset.ts'
import { packRows } from './data/pack.ts'
import { PREFERENCE_SHAPES } from './data/preference-examples.ts'
import { checkSkipped, summarise } from './data/skips.ts'
import { maxSequenceLength, mismatch, tokenizePreferences } from './data/tokenize-preferences.ts'
import type { Preference } from './methods.ts'
import { hashOf, idsOf, type RunData, type Source } from './run-data.ts'

type PreferenceSource = Omit<Source, 'config'> & { config: TrainConfig & { method: Preference } }

export async function readPreferences(source: PreferenceSource, options: BatchOptions): Promise<RunData> {
  const { config } = source
  const read = await readUnits(config.dataset, config.dataset_split, source)
  const parts = await partUnits(read.units, source)
  const { training, evaluation } = config.method === 'kto' ? mismatchParts(parts, config) : parts
  const fill = (rows: readonly (readonly Comparison[])[]) =>
    fillComparisons(rows, config.method, config, options)
  const bySequences = (units: readonly Comparison[]) =>
    units.map(unit => Object.assign([...unit.sequences], { unit }))
  const batches = createSource(bySequences(training), options, rows =>
    fill(rows.map(row => row.map(({ unit }) => unit))),
  )
  const evaluated = evaluationRows(evaluation, options).map(fill)
  const sequences = training.flatMap(unit => unit.sequences)
  return {
    batches,
    evaluation: evaluated,
    units: [...training, ...evaluation],
    maxBoundaries: Math.max(batches.maxBoundaries, ...evaluated.map(({ cuSeqlens }) => cuSeqlens.length)),
    tokenIds: idsOf(
      [...training, ...evaluation].flatMap(unit => unit.sequences),
      options.padTokenId,
    ),
    dataset: {
      ...read.record,
      documents: sequences.length,
      tokens: sequences.reduce((sum, { tokens }) => sum + tokens.length, 0),
      evaluated: evaluation.length,
      hash: hashOf(training.flatMap(unit => [...unit.sequences, ...signOf(unit)])),
    },
  }
}

/** A rating as a document, for the hash of the training data. */
const signOf = ({ sign }: Comparison) => [{ tokens: Int32Array.of(sign), isTrained: new Uint8Array(1) }]

async function readUnits(name: string, split: string, { config, tokenizer, hub }: PreferenceSource) {
  const { method, max_seq_length: maxSeqLength, too_long: tooLong } = config
  if (name.startsWith('problems:'))
    throw new InputError(
      `dataset ${name}: generated problems have no preferences, which method ${method} needs`,
    )
  const { examples, source, skipped, placeOf } = await loadRows(
    name,
    { ...hub, split, seed: config.seed, columns: config.dataset_columns, badRows: config.bad_rows },
    PREFERENCE_SHAPES[method],
  )
  const made = tokenizePreferences(examples, tokenizer, { method, maxSeqLength, tooLong })
  const { units, truncated, dropped, refused } = made
  const left = [...skipped, ...refused.map(({ index, reason }) => ({ where: placeOf(index), reason }))]
  checkSkipped(left, units.length, config.bad_rows)
  return {
    units,
    record: { source, examples: examples.length, truncated, dropped, skipped: summarise(left) },
  }
}

type SplitComparisons = { training: Comparison[]; evaluation: Comparison[] }

async function partUnits(units: Comparison[], source: PreferenceSource): Promise<SplitComparisons> {
  const { eval_dataset: name, eval_split: split, seed } = source.config
  if (name !== undefined)
    return { training: units, evaluation: (await readUnits(name, 'validation', source)).units }
  if (split === undefined) return { training: units, evaluation: [] }
  const parts = splitDocuments(units, split, seed)
  if (parts.training.length > 0) return parts
  throw new InputError(
    `eval_split ${split}: takes all ${units.length} comparisons and leaves none to train on`,
  )
}

function mismatchParts(
  { training, evaluation }: SplitComparisons,
  config: PreferenceSource['config'],
): SplitComparisons {
  if (training.length < 2)
    throw new InputError(
      'method kto needs at least 2 rated answers, because it pairs each prompt with another answer',
    )
  const crossed = (units: readonly Comparison[]) =>
    mismatch(
      units,
      config.per_device_train_batch_size,
      maxSequenceLength(config.method, config.max_seq_length),
    )
  return { training: crossed(training), evaluation: crossed(evaluation) }
}

/** Every unit once. Rows of padding fill the last micro-batch. */
function evaluationRows(
  units: readonly Comparison[],
  { batchSize, maxSeqLength }: BatchOptions,
): Comparison[][][] {
  const lengths = units.map(({ sequences }) => sequences.reduce((sum, { tokens }) => sum + tokens.length, 0))
  const rows = packRows(lengths, maxSeqLength).map(row => row.flatMap(i => units[i] ?? []))
  return Array.from({ length: Math.ceil(rows.length / batchSize) }, (_, b) =>
    Array.from({ length: batchSize }, (__, i) => rows[b * batchSize + i] ?? []),
  )
}

/** Data of a run with a preference method. */
import { InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { createSource, type BatchOptions } from './data/batches.ts'
import { fillComparisons, type Comparison } from './data/comparisons.ts'
import { splitIndices } from './data/evaluation-batches.ts'
import { openRows } from './data/load-dataset.ts'
import { countsByShare } from './data/mix.ts'
import { packRows } from './data/pack.ts'
import { PREFERENCE_SHAPES } from './data/preference-examples.ts'
import { readExamplesOnce } from './data/read-examples.ts'
import { checkSkipped, createTally, untrainedText } from './data/skips.ts'
import { maxSequenceLength, mismatch, noAnswers, tokenizePreference } from './data/tokenize-preferences.ts'
import { evaluationPart, listOfSources, mixRecord, type DataPart } from './data-parts.ts'
import type { Preference } from './methods.ts'
import { hashOf, idsOf, type RunData, type Source } from './run-data.ts'

type PreferenceSource = Omit<Source, 'config'> & { config: TrainConfig & { method: Preference } }

export async function readPreferences(source: PreferenceSource, options: BatchOptions): Promise<RunData> {
  const { config } = source
  const read = await readMix(source)
  const parts = await partUnits(read.units, source)
  const { training, evaluation } = config.method === 'kto' ? mismatchParts(parts, config) : parts
  const fill = (rows: readonly (readonly Comparison[])[]) =>
    fillComparisons(rows, config.method, config, options)
  const batches = createSource(
    {
      length: training.length,
      at: index => training[index],
      lengthOf: index => (training[index] ? lengthOf(training[index]) : 0),
      partsOf: index => training[index]?.sequences.length ?? 0,
    },
    options,
    fill,
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
    close: () => undefined,
  }
}

const lengthOf = ({ sequences }: Comparison) => sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)

/** A rating as a document, for the hash of the training data. */
const signOf = ({ sign }: Comparison) => [{ tokens: Int32Array.of(sign), isTrained: new Uint8Array(1) }]

/** The comparisons of the run's data set, or of its mix. */
async function readMix(source: PreferenceSource) {
  const parts = listOfSources(source.config)
  const read: Awaited<ReturnType<typeof readUnits>>[] = []
  for (const part of parts) read.push(await readUnits(part, source))
  const [only] = read
  if (source.config.dataset_mix === undefined && only) return only
  const counts = countsByShare(
    read.map(({ units }) => units.length),
    parts.map(({ weight }) => weight),
  )
  return {
    // A repeated comparison is a copy, because it gets a mismatched answer of its own.
    units: read.flatMap(({ units }, i) =>
      Array.from({ length: counts[i] ?? units.length }, (_, at) => units[at % units.length]).flatMap(unit =>
        unit ? [{ ...unit, reference: unit.reference.slice() }] : [],
      ),
    ),
    record: mixRecord(
      parts,
      read.map(({ record, units }, i) => ({ record, documents: units.length, seen: counts[i] ?? 0 })),
    ),
  }
}

async function readUnits(part: DataPart, { config, tokenizer, hub }: PreferenceSource) {
  const { method, max_seq_length: maxSeqLength, too_long: tooLong, bad_rows: badRows } = config
  const options = { method, maxSeqLength, tooLong }
  if (part.path.startsWith('problems:'))
    throw new InputError(
      `dataset ${part.path}: generated problems have no preferences, which method ${method} needs`,
    )
  const source = await openRows(part.path, { ...hub, ...part, seed: config.seed }, PREFERENCE_SHAPES[method])
  const units: Comparison[] = []
  const untrained = createTally()
  let [truncated, dropped] = [0, 0]
  const { examples, skipped, firstSkipped } = await readExamplesOnce(
    source,
    { samples: part.samples, badRows },
    (example, index, where) => {
      const outcome = tokenizePreference(example, index, tokenizer, options)
      if (outcome.kind === 'refused') return outcome.reason
      if (outcome.isTruncated) truncated++
      if (outcome.kind === 'unit') units.push(outcome.unit)
      else {
        dropped++
        untrained.add({ where, reason: outcome.reason })
      }
      return undefined
    },
  )
  if (units.length === 0 && dropped > 0)
    throw noAnswers(examples, options, untrainedText(untrained.summary()))
  checkSkipped(firstSkipped, skipped, units.length, badRows)
  return {
    units,
    record: { source: source.source, examples, truncated, dropped, skipped, untrained: untrained.summary() },
  }
}

type SplitComparisons = { training: Comparison[]; evaluation: Comparison[] }

async function partUnits(units: Comparison[], source: PreferenceSource): Promise<SplitComparisons> {
  const { eval_dataset: name, eval_split: split, seed } = source.config
  if (name !== undefined)
    return {
      training: units,
      evaluation: (await readUnits(evaluationPart(source.config, name), source)).units,
    }
  if (split === undefined) return { training: units, evaluation: [] }
  const parts = splitIndices(units.length, split, seed)
  const pick = (indices: readonly number[]) => indices.flatMap(i => units[i] ?? [])
  if (parts.training.length > 0) return { training: pick(parts.training), evaluation: pick(parts.evaluation) }
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
  const rows = packRows(units.map(lengthOf), maxSeqLength).map(row => row.flatMap(i => units[i] ?? []))
  return Array.from({ length: Math.ceil(rows.length / batchSize) }, (_, b) =>
    Array.from({ length: batchSize }, (__, i) => rows[b * batchSize + i] ?? []),
  )
}

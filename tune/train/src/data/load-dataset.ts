/** Loads the examples of a data set by its name. */
import { stat } from 'node:fs/promises'
import { InputError, resolveRepo, type ResolveOptions } from '@cairn-tune/weights'
import { generateProblems, type Language } from '../problems/generate.ts'
import { SHAPES, readShapes, type ColumnMap, type Example, type Shape } from './examples.ts'
import { readRecords } from './read-records.ts'
import { checkSkipped, type BadRows, type Skipped } from './skips.ts'

export type DatasetOptions = ResolveOptions & {
  split?: string
  /** Number of examples. A smaller dataset repeats from its start. */ samples?: number
  seed: number
  /** Mapping for columns with other names. */
  columns?: ColumnMap
  /** Defaults to an error. */
  badRows?: BadRows
}
export type Dataset<E = Example> = {
  examples: E[]
  /** Source of the examples, for the run's record. */
  source: string
  /** Rows that could not be read as examples. */
  skipped: Skipped[]
  /** Describes the row of an example, for messages. */
  placeOf: (index: number) => string
}

/** Names of the generated data sets. */
export const GENERATED: Record<string, Language> = { 'problems:en': 'en', 'problems:ro': 'ro' }
/** Number of examples in gsm8k. */
const GENERATED_SIZES = { train: 7473, test: 1319 } as const

/** Loads a file, a directory, a hub name, or `problems:en` and `problems:ro`, which are generated. */
export async function loadDataset(name: string, options: DatasetOptions): Promise<Dataset> {
  const { split = 'train', samples, seed } = options
  const language = Object.hasOwn(GENERATED, name) ? GENERATED[name] : undefined
  if (language !== undefined)
    return {
      examples: generateExamples(name, language, split, samples, seed),
      source: name,
      skipped: [],
      placeOf: index => `${name}: problem ${index + 1}`,
    }
  if (name.startsWith('problems:'))
    throw new InputError(
      `data set ${JSON.stringify(name)}: the generated data sets are ${Object.keys(GENERATED).join(' and ')}`,
    )
  return await loadRows(name, options, SHAPES)
}

/** Rows of a file, a directory or a hub name, in one of the given formats. */
export async function loadRows<E>(
  name: string,
  options: DatasetOptions,
  shapes: readonly Shape<E>[],
): Promise<Dataset<E>> {
  const { split = 'train', samples } = options
  const isPath = await stat(name).then(
    () => true,
    () => false,
  )
  // A path that does not exist and has no extension can only be a name.
  const path =
    isPath || /\.(?:jsonl|json|csv|parquet)$/.test(name) ? name : await resolveRepo('dataset', name, options)
  const { records, skipped: unread } = await readRecords(path, split)
  const { examples, places, skipped: unfit } = readShapes(shapes, records, options.columns)
  const skipped = [...unread, ...unfit]
  checkSkipped(skipped, examples.length, options.badRows ?? 'error')
  return {
    examples: samples === undefined ? examples : repeatTo(examples, samples),
    source: path,
    skipped,
    placeOf: index => places[index % places.length] ?? path,
  }
}

function generateExamples(
  name: string,
  language: Language,
  split: string,
  samples: number | undefined,
  seed: number,
): Example[] {
  if (split !== 'train' && split !== 'test')
    throw new InputError(`data set ${name}: only has the splits train and test, got ${JSON.stringify(split)}`)
  return generateProblems({ language, split, seed, count: samples ?? GENERATED_SIZES[split] }).map(
    ({ question, answer }) => ({ kind: 'question', question, answer }),
  )
}

const repeatTo = <E>(examples: readonly E[], count: number): E[] =>
  Array.from({ length: count }, (_, i) =>
    examples.slice(i % examples.length, (i % examples.length) + 1),
  ).flat()

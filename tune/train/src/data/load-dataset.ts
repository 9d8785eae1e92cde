/** From a data set's name to examples. */
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
  /** What stands for columns that have other names. */
  columns?: ColumnMap
  /** An error unless it says otherwise. */
  badRows?: BadRows
}
export type Dataset<E = Example> = {
  examples: E[]
  /** Where the examples came from, for the record of a run. */
  source: string
  /** Rows that could not be read as examples. */
  skipped: Skipped[]
  /** Names the row of an example. */
  placeOf: (index: number) => string
}

/** Names of the generated data sets. */
export const GENERATED: Record<string, Language> = { 'problems:en': 'en', 'problems:ro': 'ro' }
/** Number of examples in gsm8k. */
const GENERATED_SIZES = { train: 7473, test: 1319 } as const

/** A file, a directory, a name on the hub, or `problems:en` and `problems:ro`, which are generated. */
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

/** Rows of a file, a directory or a name on the hub, read by one of the formats given. */
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
  // Only a name can be meant by what does not exist and has no extension.
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

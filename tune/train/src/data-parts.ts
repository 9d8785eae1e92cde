/** The data sets of a run: one, or those of a mix, each with what is read of it. */
import { InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { ColumnMap } from './data/shape-reader.ts'
import { joinSummaries, type SkipSummary } from './data/skips.ts'
import type { MixedRecord } from './run-data.ts'

/** A data set and what is read of it. */
export type DataPart = {
  path: string
  split: string
  subset?: string | undefined
  samples?: number | undefined
  columns: ColumnMap
  weight?: number | undefined
}

/** Keys of the run apply to the entries of a mix that do not have them. */
export function listOfSources(config: TrainConfig): DataPart[] {
  const { dataset, dataset_mix: mix, dataset_split: split, dataset_columns: columns } = config
  const { dataset_subset: subset, dataset_samples: samples } = config
  if (mix)
    return mix.map(entry => ({ ...entry, split: entry.split ?? split, columns: entry.columns ?? columns }))
  if (dataset === undefined) throw new InputError('dataset is required, or dataset_mix')
  return [{ path: dataset, split, subset, samples, columns }]
}

/** The evaluation data. Generated problems have a half that is never trained on. */
export function evaluationPart(config: TrainConfig, name: string): DataPart {
  const { dataset, dataset_subset: subset, dataset_columns: columns, eval_dataset_split: split } = config
  return {
    path: name,
    split: split ?? (name.startsWith('problems:') ? 'test' : 'validation'),
    subset: name === dataset ? subset : undefined,
    columns,
  }
}

type PartRecord = { source: string; examples: number; truncated: number; dropped: number } & Record<
  'skipped' | 'untrained',
  SkipSummary
>

/** The record of a mix: the sums over its data sets, and each of them. */
export function mixRecord(
  parts: readonly DataPart[],
  read: readonly { record: PartRecord; documents: number; seen: number }[],
) {
  const sum = (name: 'examples' | 'truncated' | 'dropped') =>
    read.reduce((total, { record }) => total + record[name], 0)
  return {
    source: read.map(({ record }) => record.source).join(', '),
    examples: sum('examples'),
    truncated: sum('truncated'),
    dropped: sum('dropped'),
    skipped: joinSummaries(read.map(({ record }) => record.skipped)),
    untrained: joinSummaries(read.map(({ record }) => record.untrained)),
    mix: read.map(({ record: { source, examples }, documents, seen }, i): MixedRecord => {
      const weight = parts[i]?.weight
      return { source, ...(weight === undefined ? {} : { weight }), examples, documents, seen }
    }),
  }
}

/** What only a run can do that has read its data. */
export const needsWhole = (config: TrainConfig): boolean =>
  config.max_steps === undefined ||
  config.eval_split !== undefined ||
  config.dataset_mix !== undefined ||
  config.dataset_samples !== undefined

/** Checks a configuration with `streaming: true`. */
export function checkStreaming(config: TrainConfig): void {
  if (config.streaming !== true) return
  if (config.max_steps === undefined)
    throw new InputError('streaming: needs max_steps, because the length of the data is not known')
  for (const key of ['eval_split', 'dataset_mix', 'dataset_samples'] as const)
    if (config[key] !== undefined)
      throw new InputError(
        `streaming: not available with ${key}, which needs all of the data` +
          (key === 'eval_split' ? '; use eval_dataset' : ''),
      )
}

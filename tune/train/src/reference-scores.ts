/**
 * Scores of every answer of a run by the reference, computed once before the first step and cached under a
 * hash of everything that determines them, so that a resumed run, or one with another beta, does not compute
 * them again.
 */
import { createHash } from 'node:crypto'
import { readFile, readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { floatsOf } from '@cairn-tune/ops'
import { makeDirectories, openSafetensors, writeSafetensors } from '@cairn-tune/weights'
import { readInitialAdapter } from './adapter-init.ts'
import type { TrainConfig } from './config.ts'
import { cacheRoot, exists } from './data/token-cache.ts'
import type { Comparison } from './data/comparisons.ts'
import { hasReference } from './methods.ts'
import type { RankGroup } from './ranks/group.ts'
import type { Stepper } from './stepper.ts'
import type { Trained } from './record-step.ts'

/** Raise when the scores of the same run change. */
const VERSION = '1'

/** Settings that affect the base's scores. Adapters do not. */
const DECISIVE = [
  'recipe',
  'matmul',
  'compute_dtype',
  'skip_quant_first_layers',
  'skip_quant_last_layers',
] as const satisfies readonly (keyof TrainConfig)[]

export type ReferenceOptions = {
  config: TrainConfig
  modelDirectory: string
  units: readonly Comparison[]
  trained: readonly Trained[]
  stepper: Pick<Stepper, 'reference'>
  signal?: AbortSignal | undefined
  onNote: (line: string) => void
  /** The ranks of the run, which divide the answers. */
  group: RankGroup | undefined
}

/** Sets `reference` of each unit. */
export async function scoreWithReference(options: ReferenceOptions): Promise<void> {
  const { config, units, onNote } = options
  if (!hasReference(config.method)) return
  const path = join(cacheRoot(), 'references', `${await hashOf(options)}.safetensors`)
  const isKept = await isKeptFor(path, options.group)
  onNote(
    isKept
      ? `using cached reference scores of ${units.length} comparisons`
      : `computing reference scores of ${units.length} comparisons`,
  )
  const scores = isKept ? await readCached(path) : await ask(options)
  let at = 0
  for (const unit of units) {
    const documents = documentsOf(unit)
    unit.reference.set(scores.subarray(at, at + documents.length))
    at += documents.length
  }
  if (isKept || (options.group && options.group.rank > 0)) return
  await makeDirectories(join(cacheRoot(), 'references'))
  const bytes = new Uint8Array(scores.buffer, scores.byteOffset, scores.byteLength)
  await writeSafetensors(path, [{ name: 'scores', dtype: 'F32', shape: [scores.length], bytes }])
}

const documentsOf = ({ sequences, mismatched }: Comparison) => [
  ...sequences,
  ...(mismatched ? [mismatched] : []),
]

/** All ranks read the cache, or none: rank 0 may write it while another one looks. */
async function isKeptFor(path: string, group: RankGroup | undefined): Promise<boolean> {
  const isKept = await exists(path)
  if (!group) return isKept
  return (await group.gather([isKept ? 1 : 0])).every(([flag]) => flag === 1)
}

async function ask(options: ReferenceOptions): Promise<Float32Array> {
  const { config, units, trained, stepper, signal, group } = options
  const { reference_adapter: path } = config
  const adapter =
    path === undefined ? undefined : await readInitialAdapter({ ...config, init_adapter: path }, trained)
  const documents = units.flatMap(documentsOf)
  if (!group) return await stepper.reference(documents, adapter, signal)
  const start = (rank: number) => Math.floor((documents.length * rank) / group.ranks)
  const counts = Array.from({ length: group.ranks }, (_, rank) => start(rank + 1) - start(rank))
  const part = documents.slice(start(group.rank), start(group.rank + 1))
  const own = await stepper.reference(part, adapter, signal)
  // All ranks give equally many numbers.
  const all = await group.gather(Array.from({ length: Math.max(...counts) }, (_, i) => own[i] ?? 0))
  return Float32Array.from(counts.flatMap((count, rank) => all[rank]?.slice(0, count) ?? []))
}

async function readCached(path: string): Promise<Float32Array> {
  const file = await openSafetensors(path)
  try {
    return floatsOf(await file.read('scores')).slice()
  } finally {
    await file.close()
  }
}

async function hashOf({ config, modelDirectory, units }: ReferenceOptions): Promise<string> {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([VERSION, DECISIVE.map(key => config[key]), await filesOf(modelDirectory)]))
  if (config.reference_adapter !== undefined)
    hash
      .update(await readFile(join(config.reference_adapter, 'adapter_config.json')))
      .update(await readFile(join(config.reference_adapter, 'adapter_model.safetensors')))
  for (const unit of units) {
    for (const { tokens, isTrained } of documentsOf(unit))
      hash
        .update(`${tokens.length} `)
        .update(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))
        .update(isTrained)
  }
  return hash.digest('hex').slice(0, 32)
}

/** Paths, sizes and times of a model's files, which identify the model. */
async function filesOf(model: string): Promise<unknown[]> {
  const isDirectory = (await stat(model)).isDirectory()
  const names = isDirectory ? (await readdir(model)).toSorted() : ['']
  return await Promise.all(
    names.map(async name => {
      const path = await realpath(join(model, name))
      const { size, mtimeMs } = await stat(path)
      return [path, size, mtimeMs]
    }),
  )
}

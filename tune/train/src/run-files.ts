/**
 * Files of a run in output_dir, other than checkpoints: run.json, metrics.jsonl, the loss chart, and the
 * adapter or model (contract T4).
 */
import { appendFile, readFile, readdir, rm, stat } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { ModelConfig } from '@cairn-tune/models'
import { floatsOf } from '@cairn-tune/ops'
import {
  EMBEDDINGS,
  HEAD,
  InputError,
  encodeFloats,
  fuseStacks,
  makeDirectories,
  makeDirectory,
  matricesOf,
  writeAdapter,
  writeCheckpoint,
  withPath,
  writeTextAtomically,
  type AdapterStack,
  type AdapterTensor,
  type AdapterVector,
} from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { fusedKeys } from './fused-layout.ts'
import { lossChart } from './loss-chart.ts'
import { copyCompanions, copyTokenizer } from './merge.ts'
import type { StepMetrics } from './metrics.ts'
import type { MicroStep, Trained } from './record-step.ts'
import { rowsName, savedKeys, trainedWeightsOf } from './trained-weights.ts'

const METRICS = 'metrics.jsonl'
const RUN = 'run.json'
/** Everything a run writes. Nothing else in the directory is ever removed. */
const WRITTEN = [METRICS, RUN, 'eval.jsonl', 'checkpoints', 'adapter', 'model', 'best', 'runs', 'loss.svg']

/**
 * `linux x64, <processor>, 2 threads on 4 processors, avx2, 24 GiB`. `isa` is known only after an engine
 * starts.
 */
export function hardwareText(threads: number, isa?: string): string {
  const [first] = cpus()
  return (
    `${process.platform} ${process.arch}, ${first?.model.trim() ?? 'unknown processor'}, ` +
    `${threads} threads on ${availableParallelism()} processors, ` +
    `${isa === undefined ? '' : `${isa}, `}${Math.round(totalmem() / 2 ** 30)} GiB`
  )
}

async function earlierRun(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    if (error.code === 'ENOTDIR')
      throw new InputError(`output_dir ${directory}: is a file; give a directory`, { cause: error })
    throw error
  })
  return names.filter(name => WRITTEN.includes(name))
}

/**
 * Throws for an earlier run in output_dir unless the configuration says what to do with it. Writes nothing.
 */
export async function checkOutput({ output_dir: directory, resume, overwrite }: TrainConfig): Promise<void> {
  const earlier = await earlierRun(directory)
  if (earlier.length === 0 || resume || overwrite) return
  throw new InputError(
    `output_dir ${directory}: contains an earlier run (${earlier.join(', ')}); ` +
      'use --resume to continue it, --overwrite to replace it, or another directory',
  )
}

/** Whether output_dir exists, so that it can be locked before anything is read. */
export const directoryExists = (directory: string): Promise<boolean> =>
  stat(directory).then(
    found => found.isDirectory(),
    () => false,
  )

/** Creates output_dir for a run that is certain to start. */
export const makeOutput = (directory: string): Promise<void> => makeDirectory(directory, 'output_dir')

/**
 * Removes an earlier run that is not resumed. Call it when the new one is certain to start, with the lock on
 * output_dir.
 */
export async function clearOutput({ output_dir: directory, resume }: TrainConfig): Promise<void> {
  if (resume) return
  for (const name of await earlierRun(directory)) await rm(join(directory, name), { recursive: true })
}

export const writeRunFile = (directory: string, content: Record<string, unknown>) =>
  writeTextAtomically(join(directory, RUN), `${JSON.stringify(content, null, 2)}\n`)

/** Lines of metrics.jsonl. A killed run may have left half a line. */
export async function readMetrics(directory: string): Promise<StepMetrics[]> {
  const text = await readFile(join(directory, METRICS), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as StepMetrics)
}

/** Removes the metrics of steps after `lastStep`, which are repeated. */
export async function truncateMetrics(directory: string, lastStep: number): Promise<void> {
  const kept = (await readMetrics(directory)).filter(({ step }) => step <= lastStep)
  await writeTextAtomically(
    join(directory, METRICS),
    kept.map(metrics => `${JSON.stringify(metrics)}\n`).join(''),
  )
}

export async function appendMetrics(directory: string, metrics: StepMetrics): Promise<void> {
  const path = join(directory, METRICS)
  await appendFile(path, `${JSON.stringify(metrics)}\n`).catch((error: unknown) => {
    throw withPath(path, error)
  })
}

/** Writes loss.svg for all steps of the run. */
export async function writeLossChart(directory: string, title: string): Promise<void> {
  const points = (await readMetrics(directory)).map(({ step, loss }): [number, number] => [step, loss])
  const svg = lossChart([{ name: 'loss', points }], { title })
  await writeTextAtomically(join(directory, 'loss.svg'), svg)
}

export type Trainable = {
  config: TrainConfig
  trained: readonly Trained[]
  /** Weights of which some rows are trained. */
  tables: MicroStep['tables']
  /** Reads the bytes of a trained tensor, or of such a weight, by name. */
  read: (name: string) => Promise<Uint8Array>
  modelDirectory: string
  model: ModelConfig
  /** Directory of the tokenizer, if its tokens or chat template are not the model's. */
  tokenizerDirectory: string | undefined
  /** Whether the model has more tokens than its base. */
  isResized: boolean
  /** The destination. */
  path: string
  /** Linears with an adapter, by the last part of their names. */
  modules: readonly string[]
}

/** Writes the trained adapter (PEFT layout) or model directory, and returns its path. */
export async function writeResult({
  config,
  trained,
  tables,
  read,
  modelDirectory,
  model,
  tokenizerDirectory,
  isResized,
  path,
  modules,
}: Trainable): Promise<string> {
  const values = async (name: string) => floatsOf(await read(name))
  if (!config.lora) {
    await writeModel(path, trained, values, modelDirectory)
    if (tokenizerDirectory !== undefined) await copyTokenizer(tokenizerDirectory, path)
    return path
  }
  const own = trainedWeightsOf(config, model)
  const tensors: (AdapterTensor | AdapterVector)[] = []
  const stacks: AdapterStack[] = []
  // Resized embeddings are saved whole, because their base has no rows for the new tokens.
  const isWhole = ({ name }: Trained) => isResized && tables.some(table => rowsName(table.name) === name)
  const saved = [...trained.filter(tensor => !isWhole(tensor)), ...(isResized ? tables : [])]
  for (const tensor of saved) {
    const all = await values(tensor.name)
    const [experts = 0, rows = 0, columns = 0] = tensor.shape
    if (tensor.shape.length === 3 && config.adapter_layout === 'peft-fused') {
      stacks.push({ name: tensor.name, shape: [experts, rows, columns], values: all })
      continue
    }
    if (tensor.shape.length === 1) {
      tensors.push({ name: tensor.name, shape: [all.length], values: all })
      continue
    }
    const matrices = matricesOf(tensor)
    const size = all.length / matrices.length
    for (const [e, { name, shape }] of matrices.entries())
      tensors.push({
        name,
        shape: [shape[0] ?? 0, shape[1] ?? 0],
        values: all.subarray(e * size, (e + 1) * size),
      })
  }
  // PEFT expects both names of a tied matrix.
  const tied = model.tie_word_embeddings ? tensors.find(({ name }) => name === EMBEDDINGS) : undefined
  if (tied) tensors.push({ ...tied, name: HEAD })
  const linears = tensors.map(({ name }) => name.replace(/\.lora_.*$/, ''))
  await writeAdapter(
    path,
    {
      baseModel: config.model,
      lora_rank: config.lora_rank,
      lora_alpha: config.lora_alpha,
      lora_dropout: config.lora_dropout,
      use_rslora: config.use_rslora,
      use_dora: config.use_dora,
      ...savedKeys(config, own, model.tie_word_embeddings, isResized),
      ...(stacks.length > 0
        ? fusedKeys(config, linears, stacks)
        : {
            lora_expert_rank: config.lora_expert_rank,
            rank_pattern: config.rank_pattern,
            alpha_pattern: config.alpha_pattern,
            lora_target_modules: modules,
          }),
    },
    [...tensors, ...fuseStacks(stacks)],
  )
  if (tokenizerDirectory !== undefined) await copyTokenizer(tokenizerDirectory, path)
  return path
}

async function writeModel(
  path: string,
  trained: readonly Trained[],
  values: (name: string) => Promise<Float32Array>,
  from: string,
): Promise<void> {
  await makeDirectories(path)
  await writeCheckpoint(
    path,
    trained.flatMap(tensor => {
      const matrices = matricesOf(tensor)
      return matrices.map(({ name, shape }, e) => ({
        name,
        dtype: 'BF16' as const,
        shape,
        bytes: async () => {
          const all = await values(tensor.name)
          const size = all.length / matrices.length
          return encodeFloats('BF16', all.subarray(e * size, (e + 1) * size))
        },
      }))
    }),
  )
  await copyCompanions(from, path)
}

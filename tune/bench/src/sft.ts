/**
 * The benchmark's run (contract T5): the spec's fixed configuration, a real adapter, metrics,
 * result.json and one row.
 */
import { rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  OutOfMemoryError,
  RECIPE_TABLE,
  VERSION,
  bytesText,
  hardwareText,
  readConfig,
  train,
  type Recipe,
  type StepMetrics,
  type TrainConfig,
  type TrainResult,
} from '@cairn-tune/train'
import {
  InputError,
  UnsupportedError,
  makeDirectory,
  resolveRepo,
  writeTextAtomically,
} from '@cairn-tune/weights'
import { FIXED } from './fixed.ts'
import { RESULT_FILE, SAMPLES, isStreamed, resultSchema, type BenchmarkResult } from './result.ts'

/** The accuracy run's rate, because the benchmark's table has none. */
const LEARNING_RATE = 2e-4
const HUB_DATASET = 'OpenLLM-Ro/ro_gsm8k'
const OWN_DATASET = 'problems:ro'
/** Steps excluded from the median: caches fill, and pages are touched for the first time. */
const WARM_UP = 2
/** Suffix of an emulated card in a run's hardware. */
const EMULATED = 'emulated (no speed)'

export type SftOptions = {
  model: string
  recipe: Recipe
  outputDir: string
  samples?: number | undefined
  maxSteps?: number | undefined
  dataset?: string | undefined
  matmul?: string | undefined
  /** Layers at the start and at the end that stay bf16. */
  skipFirst?: number | undefined
  skipLast?: number | undefined
  memory?: string | undefined
  offload?: string | undefined
  threads?: number | undefined
  /** Processes of this machine that train together. */
  ranks?: number | undefined
  /** Ranks that divide the experts of a model. */
  expertParallel?: number | undefined
  device?: string | undefined
  signal?: AbortSignal | undefined
  onNote?: (line: string) => void
  onStep?: (metrics: StepMetrics) => void
}

export type SftOutcome = {
  status: 'measured' | 'interrupted'
  directory: string
  result: BenchmarkResult | undefined
}

/** Runs the benchmark. Writes result.json also for out of memory and unsupported; other errors leave none. */
export async function benchmarkSft(options: SftOptions): Promise<SftOutcome> {
  const { recipe, signal, onNote, onStep } = options
  const directory = join(options.outputDir, `benchmark_sft_${recipe}`)
  const dataset = options.dataset ?? (await defaultDataset())
  const config = readConfig({ flags: flagsOf(options, dataset, directory) })
  const startedAt = new Date().toISOString()
  const write = async (outcome: BenchmarkResult['outcome'], run?: TrainResult): Promise<SftOutcome> => {
    const result = resultSchema.parse(describe({ config, startedAt, outcome, run }))
    await makeDirectory(directory, 'output_dir')
    await writeTextAtomically(join(directory, RESULT_FILE), `${JSON.stringify(result, null, 2)}\n`)
    return { status: 'measured', directory, result }
  }
  await rm(join(directory, RESULT_FILE), { force: true })
  try {
    const run = await train(config, {
      ...(signal ? { signal } : {}),
      ...(onNote ? { onNote } : {}),
      ...(onStep ? { onStep } : {}),
    })
    if (run.hardware.includes(EMULATED))
      throw new UnsupportedError('cannot measure the speed of an emulated GPU')
    if (run.status === 'interrupted') return { status: 'interrupted', directory, result: undefined }
    return await write(measure(run), run)
  } catch (error) {
    if (error instanceof OutOfMemoryError) {
      onNote?.(error.message)
      return await write({
        status: 'oom',
        needed_bytes: error.neededBytes,
        budget_bytes: Math.floor(error.budgetBytes),
        message: error.message,
      })
    }
    if (error instanceof UnsupportedError) {
      onNote?.(error.message)
      return await write({ status: 'unsupported', message: error.message })
    }
    throw error
  }
}

function flagsOf(
  {
    model,
    recipe,
    samples,
    maxSteps,
    matmul,
    skipFirst,
    skipLast,
    memory,
    offload,
    threads,
    ranks,
    expertParallel,
    device,
  }: SftOptions,
  dataset: string,
  directory: string,
): string[] {
  const settings: Record<string, string | number | boolean | undefined> = {
    model,
    recipe,
    dataset,
    output_dir: directory,
    dataset_samples: samples ?? SAMPLES,
    learning_rate: LEARNING_RATE,
    overwrite: true,
    ...FIXED,
    max_steps: maxSteps,
    matmul,
    skip_quant_first_layers: skipFirst,
    skip_quant_last_layers: skipLast,
    memory_limit: memory,
    offload,
    threads,
    ranks,
    expert_parallel: expertParallel,
    device,
  }
  return Object.entries(settings).flatMap(([key, value]) =>
    value === undefined ? [] : [`--${key}=${value}`],
  )
}

/** The real data set if the hub's cache has it, otherwise the generated problems. */
async function defaultDataset(): Promise<string> {
  try {
    await resolveRepo('dataset', HUB_DATASET, { env: { ...process.env, HF_HUB_OFFLINE: '1' } })
    return HUB_DATASET
  } catch (error) {
    if (error instanceof InputError) return OWN_DATASET
    throw error
  }
}

function measure({ metrics, peakRssBytes, memory }: TrainResult): BenchmarkResult['outcome'] {
  const sum = (key: 'seconds' | 'slots' | 'real_tokens' | 'trained_tokens') =>
    metrics.reduce((total, step) => total + step[key], 0)
  const seconds = sum('seconds')
  const warm = metrics.length > WARM_UP ? metrics.slice(WARM_UP) : metrics
  const rates = warm.map(step => step.tokens_per_second).toSorted((a, b) => a - b)
  return {
    status: 'ok',
    steps: metrics.length,
    seconds,
    tokens_per_second: sum('slots') / seconds,
    tokens_per_second_p50: rates[Math.floor((rates.length - 1) / 2)] ?? 0,
    real_tokens_per_second: sum('real_tokens') / seconds,
    trained_tokens_per_second: sum('trained_tokens') / seconds,
    first_loss: metrics[0]?.loss ?? 0,
    last_loss: metrics.at(-1)?.loss ?? 0,
    peak_rss_bytes: peakRssBytes,
    estimated_bytes: Math.round(memory.total),
  }
}

type Described = {
  config: TrainConfig
  startedAt: string
  outcome: BenchmarkResult['outcome']
  run: TrainResult | undefined
}

function describe({ config, startedAt, outcome, run }: Described): BenchmarkResult {
  const { model, recipe, dataset, dataset_samples: samples = SAMPLES, max_steps, matmul } = config
  const threads = run?.threads ?? config.threads ?? availableParallelism()
  return {
    schema: 1,
    program: 'cairn-tune',
    program_version: VERSION,
    model,
    recipe,
    matmul: matmul ?? RECIPE_TABLE[recipe].matmul,
    // The flags of a benchmark always name one data set.
    dataset: dataset ?? '',
    samples,
    is_short: samples < SAMPLES || max_steps !== undefined,
    started_at: startedAt,
    hardware: run?.hardware ?? hardwareText(threads),
    threads,
    config,
    outcome,
  }
}

/** `Qwen/Qwen3-0.6B  BF16  0.3k tokens/s …`: what the benchmark prints. */
export function resultRow(result: BenchmarkResult): string {
  const { model, recipe, matmul, dataset, samples, is_short: isShort, threads, config, outcome } = result
  const column = Object.entries(RECIPE_TABLE).find(([name]) => name === recipe)?.[1].column ?? recipe
  const skipped = [
    ['first', config['skip_quant_first_layers']],
    ['last', config['skip_quant_last_layers']],
  ].flatMap(([which, count]) => (Number(count ?? 0) > 0 ? `${String(which)} ${String(count)}` : []))
  const name =
    `${model}  ${column} ` +
    `(${matmul}${skipped.length > 0 ? `; layers in bf16: ${skipped.join(', ')}` : ''})`
  const where = `${dataset}, ${samples} samples${isShort ? ', SHORT run' : ''}, ${threads} threads`
  if (outcome.status === 'oom')
    return (
      `${name}  OOM  needs ${bytesText(outcome.needed_bytes)} of ` +
      `${bytesText(outcome.budget_bytes)}; ${where}`
    )
  if (outcome.status === 'unsupported') return `${name}  -  ${outcome.message}`
  const {
    tokens_per_second: tps,
    tokens_per_second_p50: p50,
    real_tokens_per_second: real,
    trained_tokens_per_second: trained,
    steps,
    last_loss: loss,
    peak_rss_bytes: peak,
  } = outcome
  const thousands = (rate: number) => `${(rate / 1000).toFixed(rate < 10_000 ? 3 : 1)}k`
  return (
    `${name}  ${thousands(tps)} tokens/s${isStreamed(result) ? ' streamed' : ''}  ` +
    `(p50 ${thousands(p50)}, without padding ${thousands(real)}, trained ${thousands(trained)}; ` +
    `${steps} steps, loss ${loss.toFixed(4)}, peak ${bytesText(peak)}; ${where})`
  )
}

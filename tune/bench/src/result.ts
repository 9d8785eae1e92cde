/**
 * result.json of one benchmark run: `bench sft` and other programs' runs write it, `bench matrix` reads it
 * (contract T5).
 */
import { RECIPES } from '@cairn-tune/train/recipes'
import { z } from 'zod'

export const RESULT_FILE = 'result.json'
/** Samples of a whole benchmark run. */
export const SAMPLES = 10_000

const rate = z.number().nonnegative()
const bytes = z.number().int().nonnegative()

const measured = z.object({
  status: z.literal('ok'),
  steps: z.int().positive(),
  /** Seconds of all steps together. */
  seconds: z.number().positive(),
  /** All trained tokens and padding over the whole run's step time: the spec's TPS. */
  tokens_per_second: rate,
  /** Median over the steps after the first two; over all steps if there are at most two. */
  tokens_per_second_p50: rate,
  /** Without padding. */
  real_tokens_per_second: rate,
  /** Tokens that the loss counts. */
  trained_tokens_per_second: rate,
  first_loss: z.number(),
  last_loss: z.number(),
  peak_rss_bytes: bytes,
  estimated_bytes: bytes,
})

/** The cell is `OOM`: found before anything ran. */
const outOfMemory = z.object({
  status: z.literal('oom'),
  needed_bytes: bytes,
  budget_bytes: bytes,
  message: z.string(),
})
/** The cell is `-`. */
const unsupported = z.object({ status: z.literal('unsupported'), message: z.string() })

export const resultSchema = z.object({
  schema: z.literal(1),
  /** The program measured: `cairn-tune`, or the baseline's name. */
  program: z.string().min(1),
  program_version: z.string(),
  /** The model as the caller named it: a hub name or a directory. */
  model: z.string().min(1),
  /** One of our recipes, or the baseline's own name for what it ran, such as `nf4`. */
  recipe: z.union([z.enum(RECIPES), z.string().min(1)]),
  /** Arithmetic of the base's matmuls. */
  matmul: z.string(),
  /** Source of the data. */
  dataset: z.string(),
  samples: z.int().positive(),
  /** Fewer samples or steps than the whole benchmark. */
  is_short: z.boolean(),
  started_at: z.iso.datetime(),
  /** `linux x64, AMD EPYC …, 2 threads, avx512bf16`. */
  hardware: z.string(),
  threads: z.int().positive(),
  /** Settings that the spec's table fixes, and others that differ from the defaults. */
  config: z.record(z.string(), z.unknown()),
  outcome: z.discriminatedUnion('status', [measured, outOfMemory, unsupported]),
})

export type BenchmarkResult = z.infer<typeof resultSchema>

/** Whether the base's weights were streamed from disk, layer by layer. */
export const isStreamed = ({ config }: BenchmarkResult): boolean => config['offload'] === 'disk'

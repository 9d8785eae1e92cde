/**
 * What a demonstration does: sizes of model and data, and the configuration of its runs. The hash of this
 * value names a cached base.
 */
import type { TrainConfig } from '@cairn-tune/train'
import type { MatmulName, Recipe } from '@cairn-tune/train/recipes'

/** Rows of the spec's accuracy table, in its order. */
export const CONFIGS = [
  { name: 'BF16', recipe: 'bf16' },
  { name: 'FP8', recipe: 'fp8' },
  { name: 'FP4', recipe: 'fp4' },
  { name: 'QBnB', recipe: 'qbnb' },
  { name: 'QFP8 + fp8-hybrid', recipe: 'qfp8', matmul: 'fp8-hybrid' },
  { name: 'QFP8 + bf16', recipe: 'qfp8', matmul: 'bf16' },
  { name: 'QFP4', recipe: 'qfp4' },
] as const satisfies readonly { name: string; recipe: Recipe; matmul?: MatmulName }[]

export type ConfigName = (typeof CONFIGS)[number]['name']
export type DemoConfig = { name: ConfigName; recipe: Recipe; matmul?: 'bf16' | 'fp8-hybrid' }

export type BasePlan = {
  vocabulary: number
  hidden: number
  ffn: number
  layers: number
  heads: number
  kvHeads: number
  headDim: number
  problems: number
  statements: number
  sums: number
  steps: number
  learningRate: number
  seed: number
}

type AdapterPlan = { problems: number; epochs: number; learningRate: number; maxSeqLength: number }

export type DemoPlan = { base: BasePlan; adapter: AdapterPlan; questions: number }

/** About 3.4 million parameters. */
export const FULL: DemoPlan = {
  base: {
    vocabulary: 1024,
    hidden: 256,
    ffn: 768,
    layers: 4,
    heads: 4,
    kvHeads: 2,
    headDim: 64,
    problems: 20_000,
    statements: 2500,
    sums: 200_000,
    steps: 8000,
    learningRate: 3e-3,
    seed: 1,
  },
  adapter: { problems: 3000, epochs: 2, learningRate: 3e-3, maxSeqLength: 256 },
  questions: 500,
}

/** Each part takes at most a minute or two. The numbers mean nothing. */
export const QUICK: DemoPlan = {
  base: {
    ...FULL.base,
    hidden: 64,
    ffn: 192,
    layers: 2,
    problems: 2000,
    statements: 200,
    sums: 0,
    steps: 60,
  },
  adapter: { ...FULL.adapter, problems: 300, epochs: 1 },
  questions: 50,
}

/** Tokens per row when the base is trained, one row per step. */
const BASE_ROW = 1024

export const baseTrainConfig = (
  { base }: DemoPlan,
  paths: { model: string; dataset: string; outputDir: string },
): Partial<TrainConfig> => ({
  model: paths.model,
  dataset: paths.dataset,
  output_dir: paths.outputDir,
  lora: false,
  recipe: 'bf16',
  train_on: 'all',
  max_seq_length: BASE_ROW,
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 1,
  max_steps: base.steps,
  learning_rate: base.learningRate,
  warmup_steps: Math.min(200, base.steps),
  lr_scheduler_type: 'linear',
  weight_decay: 0.05,
  adam_beta2: 0.98,
  seed: base.seed,
  save_steps: 250,
  save_total_limit: 1,
})

/** The spec's configuration of accuracy runs, except for a learning rate that the plan sets. */
export const adapterTrainConfig = (
  { adapter }: DemoPlan,
  { recipe, matmul }: DemoConfig,
  seed: number,
  paths: { model: string; dataset: string; outputDir: string },
): Partial<TrainConfig> => ({
  model: paths.model,
  dataset: paths.dataset,
  output_dir: paths.outputDir,
  recipe,
  ...(matmul !== undefined && { matmul }),
  per_device_train_batch_size: 2,
  gradient_accumulation_steps: 4,
  learning_rate: adapter.learningRate,
  warmup_steps: 20,
  weight_decay: 0.001,
  lr_scheduler_type: 'linear',
  lora_dropout: 0,
  lora_rank: 16,
  lora_alpha: 32,
  max_seq_length: adapter.maxSeqLength,
  num_train_epochs: adapter.epochs,
  seed,
})

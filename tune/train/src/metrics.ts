/** What a run reports, step by step and at its end. Keys are those of metrics.jsonl. */
import type { MemoryEstimate } from './estimate.ts'
import type { TrainConfig } from './config.ts'
import type { RewardMetrics } from './rewards.ts'

/** One optimizer step. */
export type StepMetrics = {
  /** Steps done, counted from 1. */
  step: number
  total_steps: number
  /** Passes over the data so far, with the part of the present one. */
  epoch: number
  /** Mean over the tokens that the loss counts, or over what is compared, of the whole window. */
  loss: number
  /** Length of the mean gradient, before the clip. */
  grad_norm: number
  learning_rate: number
  /** Seconds of the step, with its data and without checkpoints. */
  seconds: number
  /** Slots of the step: rows × max_seq_length, padding included. */
  slots: number
  /** Slots that hold a token of a document. */
  real_tokens: number
  /** Tokens that the loss counts. */
  trained_tokens: number
  /** Slots a second. */
  tokens_per_second: number
  /** Resident memory of the process when the step ended. */
  rss_bytes: number
} & RewardMetrics

/** The loss on data that is not trained on, after a step. */
export type Evaluation = {
  step: number
  /** Mean over the tokens that the loss counts. */
  loss: number
  tokens: number
  seconds: number
  /** Whether none before was better. */
  is_best: boolean
}

export type TrainOptions = {
  signal?: AbortSignal
  onStep?: (metrics: StepMetrics) => void
  threads?: number
  /** What happens before and between the steps, a line each. */ onNote?: (line: string) => void
}

/** How a run ended. `interrupted` has saved a checkpoint to go on from. */
export type TrainResult = {
  status: 'finished' | 'interrupted'
  config: TrainConfig
  /** Directory of the model that was trained. */
  model: string
  /** Where the examples came from. */
  dataset: string
  /** Rows of the data that could not be learned from; run.json says which and why. */
  skippedRows: number
  /**
   * `<output_dir>/adapter`; with `lora: false` the model of its own at `<output_dir>/model`; empty where the
   * run was interrupted.
   */
  output: string
  steps: number
  /** Steps of this call, without those before a resume. */
  metrics: readonly StepMetrics[]
  /** Evaluations of the whole run. */
  evaluations: readonly Evaluation[]
  /** Seconds of those steps, by op, largest first. */
  opSeconds: readonly (readonly [op: string, seconds: number])[]
  memory: MemoryEstimate
  /** The most resident memory that the process has had, in bytes. */
  peakRssBytes: number
  /** Machine, threads and instruction set, for the record. */
  hardware: string
  threads: number
}

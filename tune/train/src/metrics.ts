/** Reports of a run, step by step and at its end. Keys are those of metrics.jsonl. */
import type { MemoryEstimate } from './estimate.ts'
import type { TrainConfig } from './config.ts'
import type { RewardMetrics } from './rewards.ts'

/** One optimizer step. */
export type StepMetrics = {
  /** Completed steps, counted from 1. */
  step: number
  total_steps: number
  /** Passes over the data so far, including the part of the present one. */
  epoch: number
  /** Mean over the tokens that the loss counts, or over comparisons, of the whole window. */
  loss: number
  /** Norm of the mean gradient, before clipping. */
  grad_norm: number
  learning_rate: number
  /** Seconds of the step, including its data but not checkpoints. */
  seconds: number
  /** Slots of the step: rows × max_seq_length, padding included. */
  slots: number
  /** Slots that hold a token of a document. */
  real_tokens: number
  /** Tokens that the loss counts. */
  trained_tokens: number
  /** Slots per second. */
  tokens_per_second: number
  /** Resident memory of the process when the step ended. */
  rss_bytes: number
} & RewardMetrics

/** The loss on evaluation data after a step. */
export type Evaluation = {
  step: number
  /** Mean over the tokens that the loss counts. */
  loss: number
  tokens: number
  seconds: number
  /** Whether no earlier evaluation was better. */
  is_best: boolean
}

export type TrainOptions = {
  signal?: AbortSignal
  onStep?: (metrics: StepMetrics) => void
  threads?: number
  /** Reports events before and between the steps, one line each. */ onNote?: (line: string) => void
}

/** How a run ended. An `interrupted` run has saved a checkpoint to resume from. */
export type TrainResult = {
  status: 'finished' | 'interrupted'
  config: TrainConfig
  /** Directory of the trained model. */
  model: string
  /** Source of the examples. */
  dataset: string
  /** Rows of the data that were skipped; run.json has the details. */
  skippedRows: number
  /**
   * `<output_dir>/adapter`, or with `lora: false` the model at `<output_dir>/model`. Empty if the run was
   * interrupted.
   */
  output: string
  steps: number
  /** Steps of this call, without those before a resume. */
  metrics: readonly StepMetrics[]
  /** Evaluations of the whole run. */
  evaluations: readonly Evaluation[]
  /** Seconds of those steps by op, largest first. */
  opSeconds: readonly (readonly [op: string, seconds: number])[]
  memory: MemoryEstimate
  /** Peak resident memory of the process, in bytes. */
  peakRssBytes: number
  /** Machine, threads and instruction set, for the record. */
  hardware: string
  threads: number
}

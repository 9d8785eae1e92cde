/** Estimates a run's memory and plan without running it. */
import type { TrainConfig } from './config.ts'
import type { MemoryEstimate } from './estimate.ts'
import { prepareRun, type PrepareOptions } from './prepare-run.ts'

export type RunEstimate = {
  memory: MemoryEstimate
  budgetBytes: number
  recomputed: string
  rowsPerEpoch: number
  documents: number
  tokens: number
}

/**
 * Plans a run. Throws OutOfMemoryError if it does not fit, and any other error that would stop it before its
 * first step.
 */
export async function estimate(config: TrainConfig, options: PrepareOptions = {}): Promise<RunEstimate> {
  await using run = await prepareRun(config, options)
  const { memory, recomputed } = run.planned
  return {
    memory,
    recomputed,
    budgetBytes: run.budgetBytes,
    rowsPerEpoch: run.batches.rowsPerEpoch,
    documents: run.dataset.documents,
    tokens: run.dataset.tokens,
  }
}

/** Settings and observations of runs on several ranks. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainResult } from '@cairn-tune/train'
import type { Bench } from './run.ts'

export type Settings = Parameters<Bench['run']>[0]

/** Micro-batches of a step on all ranks. */
export const MICRO_BATCHES = 4

/** Steps of MICRO_BATCHES rows of 64 tokens, whatever the number of ranks. */
export const withRanks = (ranks: number, more: Settings): Settings => ({
  ranks,
  gradient_accumulation_steps: MICRO_BATCHES / ranks,
  per_device_train_batch_size: 1,
  max_steps: 8,
  threads: 1,
  learning_rate: 0.01,
  ...more,
})

/** Sizes of a mixture of eight experts whose steps are short. */
export const SMALL_EXPERTS = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts: 8,
  num_experts_per_tok: 3,
  moe_intermediate_size: 64,
  initializer_range: 0.05,
}

export const adapterOf = ({ output }: TrainResult): Buffer =>
  readFileSync(join(output, 'adapter_model.safetensors'))

/** The processes of the ranks that this process started, by rank. */
export function rankProcesses(): number[] {
  const text = execFileSync('ps', ['-o', 'pid=,ppid=,args=', '-A'], { encoding: 'utf8' })
  return text
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...args]) => Number(parent) === process.pid && args.join(' ').includes('rank-process'),
    )
    .map(([pid]) => Number(pid))
    .toSorted((a, b) => a - b)
}

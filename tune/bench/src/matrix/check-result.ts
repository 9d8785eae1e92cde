/** Checks of result files: the benchmark's configuration, a real machine, and a rate that fits its steps. */
import { FIXED } from '../fixed.ts'
import { OWN_PROGRAM } from './tables.ts'
import type { BenchmarkResult } from '../result.ts'

/** Rates are divided in floating point, and files may be rounded. */
const ALLOWED = 0.01

/** Why a result is refused. Undefined if it is not. */
export function refusalOf(result: BenchmarkResult): string | undefined {
  const { config, hardware, outcome, program } = result
  if (/emulated/i.test(hardware)) return 'was measured on an emulated GPU, whose speed means nothing'
  if (program === OWN_PROGRAM)
    for (const [key, wanted] of Object.entries(FIXED))
      if (config[key] !== wanted)
        return (
          `has ${key} ${JSON.stringify(config[key]) ?? 'missing'}, ` +
          `but the benchmark has ${JSON.stringify(wanted)}`
        )
  if (outcome.status !== 'ok') return undefined
  const { steps, seconds, tokens_per_second: rate } = outcome
  const ranks = Number(config['ranks'] ?? 1)
  const slots =
    FIXED.max_seq_length * FIXED.per_device_train_batch_size * FIXED.gradient_accumulation_steps * ranks
  const held = (steps * slots) / seconds
  if (Math.abs(rate / held - 1) > ALLOWED)
    return (
      `gives ${rate.toFixed(0)} tokens per second, but ${steps} steps of ${slots} tokens in ` +
      `${seconds.toFixed(1)} s are ${held.toFixed(0)}`
    )
  return undefined
}

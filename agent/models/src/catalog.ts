/** Price and context window of a model, from the rate catalog of the configuration. Pure. */
import type { Rates } from '@cairn/protocol'
import type { Usage } from './provider.ts'

export type Cost = { cost_usd: number } | { cost_unpriced_model: string }

/** Default for a model that is not in the catalog. */
const DEFAULT_CONTEXT_WINDOW = 128_000

const MILLION = 1_000_000

/**
 * `cost_usd` if the catalog has a rate for the model, else `cost_unpriced_model` with its name (contract
 * 7.4). Cache reads and writes count at their own rates, or as ordinary input without one.
 */
export function costOf(usage: Usage, model: string, rates: Rates | undefined): Cost {
  if (rates?.input === undefined || rates.output === undefined) return { cost_unpriced_model: model }
  const written = usage.cache_write_tokens ?? 0
  const fresh = Math.max(0, usage.input_tokens - usage.cache_read_tokens - written)
  const micros =
    fresh * rates.input +
    usage.cache_read_tokens * (rates.cache_read ?? rates.input) +
    written * (rates.cache_write ?? rates.input) +
    usage.output_tokens * rates.output
  // Ten decimals: finer than any price, coarser than floating-point noise.
  return { cost_usd: Number((micros / MILLION).toFixed(10)) }
}

/** The model's context window in tokens, prompt and answer together. */
export const contextWindowOf = (rates: Rates | undefined): number =>
  rates?.context_window ?? DEFAULT_CONTEXT_WINDOW

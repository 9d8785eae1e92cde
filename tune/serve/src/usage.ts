/** Token counts of a request: their sum, and the usage fields of a stream's chunks. */
import type { ChoiceResult } from './choice.ts'
import type { SamplingRequest, Usage } from './protocol.ts'

/** `choices` of each prompt are adjacent. The cached tokens of the first count for the prompt. */
export function usageOf(
  promptTokens: number,
  results: readonly Pick<ChoiceResult, 'tokens' | 'cachedTokens'>[],
  choices: number,
): Usage {
  const completion = results.reduce((sum, { tokens }) => sum + tokens, 0)
  const cached = results.reduce((sum, { cachedTokens }, i) => sum + (i % choices === 0 ? cachedTokens : 0), 0)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
    prompt_tokens_details: { cached_tokens: cached },
  }
}

export type StreamUsage = {
  /** Whether a last chunk reports the sum. */
  isRequested: boolean
  /** Records how many tokens of a choice have been generated so far. */
  count: (index: number, tokens: number) => void
  /**
   * The usage field of a chunk: null before the last one, or with `continuous_usage_stats` the tokens so far.
   */
  now: () => { usage?: Omit<Usage, 'prompt_tokens_details'> | null }
}

export function createStreamUsage(
  { stream_options }: Pick<SamplingRequest, 'stream_options'>,
  promptTokens: number,
): StreamUsage {
  const generated = new Map<number, number>()
  const isRequested = stream_options?.include_usage ?? false
  const sum = () => [...generated.values()].reduce((total, tokens) => total + tokens, 0)
  const soFar = () => ({
    prompt_tokens: promptTokens,
    completion_tokens: sum(),
    total_tokens: promptTokens + sum(),
  })
  return {
    isRequested,
    count: (index, tokens) => void generated.set(index, tokens),
    now: () => (isRequested ? { usage: stream_options?.continuous_usage_stats ? soFar() : null } : {}),
  }
}

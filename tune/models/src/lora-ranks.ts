/** Rank and scale of each adapter of a model: those of all, or those that a pattern has for some. */
import { isFeedForward, ofPattern } from '@cairn-tune/weights'

export type LoraRanks = {
  lora_rank: number
  lora_alpha: number
  /** Counts alpha / √rank times in place of alpha / rank. */
  use_rslora?: boolean | undefined
  /** Rank of feed-forward linears in a model with experts, if it differs; alpha / rank stays the same. */
  lora_expert_rank?: number | undefined
  /** Ranks of some linears by the end of their names, as `q_proj` or `layers.3.self_attn.q_proj`. */
  rank_pattern?: Readonly<Record<string, number>> | undefined
  /** Alphas of some, in the same way. */
  alpha_pattern?: Readonly<Record<string, number>> | undefined
}

/** Rank of a linear's adapter. */
export const rankOf = (lora: LoraRanks, linear: string): number =>
  ofPattern(lora.rank_pattern, linear) ??
  (isFeedForward(linear) ? lora.lora_expert_rank : undefined) ??
  lora.lora_rank

/** What B·A·x of a linear's adapter is multiplied by. */
export function scaleOf(lora: LoraRanks, linear: string): number {
  const rank = ofPattern(lora.rank_pattern, linear) ?? lora.lora_rank
  const alpha = ofPattern(lora.alpha_pattern, linear) ?? lora.lora_alpha
  return alpha / (lora.use_rslora ? Math.sqrt(rank) : rank)
}

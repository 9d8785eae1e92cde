/** Rank and scale of each adapter of a model: the common ones, or those of a pattern. */
import { isFeedForward, ofPattern } from '@cairn-tune/weights'

export type LoraRanks = {
  lora_rank: number
  lora_alpha: number
  /** Scales by alpha / √rank instead of alpha / rank. */
  use_rslora?: boolean | undefined
  /** Rank of feed-forward linears in a model with experts, if different. alpha / rank stays the same. */
  lora_expert_rank?: number | undefined
  /** Ranks of linears by the last parts of their names, such as `q_proj` or `layers.3.self_attn.q_proj`. */
  rank_pattern?: Readonly<Record<string, number>> | undefined
  /** Alphas of linears, by the same names. */
  alpha_pattern?: Readonly<Record<string, number>> | undefined
}

/** Rank of a linear's adapter. */
export const rankOf = (lora: LoraRanks, linear: string): number =>
  ofPattern(lora.rank_pattern, linear) ??
  (isFeedForward(linear) ? lora.lora_expert_rank : undefined) ??
  lora.lora_rank

/** Factor of B·A·x of a linear's adapter. */
export function scaleOf(lora: LoraRanks, linear: string): number {
  const rank = ofPattern(lora.rank_pattern, linear) ?? lora.lora_rank
  const alpha = ofPattern(lora.alpha_pattern, linear) ?? lora.lora_alpha
  return alpha / (lora.use_rslora ? Math.sqrt(rank) : rank)
}

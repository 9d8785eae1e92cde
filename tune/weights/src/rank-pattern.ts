/**
 * Ranks and scales of an adapter's linears: the common ones, or those of PEFT's `rank_pattern` and
 * `alpha_pattern`.
 */
import { UnsupportedError } from './errors.ts'

type Pattern = Readonly<Record<string, number>>

export type RankKeys = {
  r: number
  lora_alpha: number
  use_rslora: boolean
  rank_pattern?: Pattern | null | undefined
  alpha_pattern?: Pattern | null | undefined
}

/** Projections of the feed-forward part of a layer. With experts, each exists once per expert. */
const FEED_FORWARD = ['gate_proj', 'up_proj', 'gate_up_proj', 'down_proj']

/** Whether a linear belongs to the feed-forward part of a layer, with or without experts. */
export const isFeedForward = (linear: string): boolean => linear.includes('.mlp.')

export type Ranks = {
  lora_rank: number
  lora_expert_rank?: number | undefined
  lora_alpha: number
  lora_target_modules: readonly string[]
  rank_pattern?: Pattern | undefined
  alpha_pattern?: Pattern | undefined
}

/**
 * The rank keys of `adapter_config.json`. If feed-forward projections have their own rank, `r` is theirs and
 * the others are in the patterns, because PEFT does not accept a pattern for a projection of experts.
 */
export function rankKeys({
  lora_rank: rank,
  lora_expert_rank: expertRank = rank,
  lora_alpha: alpha,
  lora_target_modules: modules,
  rank_pattern = {},
  alpha_pattern = {},
}: Ranks): Pick<RankKeys, 'r' | 'lora_alpha' | 'rank_pattern' | 'alpha_pattern'> {
  if (expertRank === rank) return { r: rank, lora_alpha: alpha, rank_pattern, alpha_pattern }
  const others = modules.filter(name => !FEED_FORWARD.includes(name))
  const all = (value: number) => Object.fromEntries(others.map(name => [name, value]))
  return {
    r: expertRank,
    lora_alpha: (alpha * expertRank) / rank,
    rank_pattern: all(rank),
    alpha_pattern: all(alpha),
  }
}

/** Whether a pattern name equals a linear's name or its last parts. */
export const matchesLinear = (name: string, linear: string): boolean =>
  linear === name || linear.endsWith(`.${name}`)

/** A pattern's value for a linear: that of the first matching name, as in PEFT. */
export function ofPattern(pattern: Pattern | null | undefined, linear: string): number | undefined {
  const found = Object.keys(pattern ?? {}).find(name => matchesLinear(name, linear))
  return found === undefined ? undefined : pattern?.[found]
}

/** The rank of each linear's adapter, and the factor of its B·A·x. */
export function ranksOf(
  path: string,
  config: RankKeys,
): { rankOf: (linear: string) => number; scaleOf: (linear: string) => number } {
  for (const key of ['rank_pattern', 'alpha_pattern'] as const) {
    const odd = Object.keys(config[key] ?? {}).find(name => !/^[\w.]+$/.test(name))
    if (odd !== undefined)
      throw new UnsupportedError(`${path}: ${key} ${JSON.stringify(odd)} is not the name of a projection`)
  }
  const rankOf = (linear: string) => ofPattern(config.rank_pattern, linear) ?? config.r
  return {
    rankOf,
    scaleOf(linear) {
      const alpha = ofPattern(config.alpha_pattern, linear) ?? config.lora_alpha
      return alpha / (config.use_rslora ? Math.sqrt(rankOf(linear)) : rankOf(linear))
    },
  }
}

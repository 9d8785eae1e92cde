/** Ranks and scales of an adapter's linears: those of all, or by `rank_pattern` and `alpha_pattern` of PEFT. */
import { UnsupportedError } from './errors.ts'

type Pattern = Readonly<Record<string, number>>

export type RankKeys = {
  r: number
  lora_alpha: number
  use_rslora: boolean
  rank_pattern?: Pattern | null | undefined
  alpha_pattern?: Pattern | null | undefined
}

/** Projections that the feed-forward part of a layer has; experts have each of them many times. */
const FEED_FORWARD = ['gate_proj', 'up_proj', 'gate_up_proj', 'down_proj']

/** Whether a linear is of the feed-forward part of a layer, of experts or not. */
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
 * What `adapter_config.json` says of ranks. Where feed-forward projections have a rank of their own, `r` is
 * theirs, for PEFT takes no pattern that names a projection of experts, and the others stand in the patterns.
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

/** What a pattern has for a linear: of the first name that is the linear's, as in PEFT. */
export function ofPattern(pattern: Pattern | null | undefined, linear: string): number | undefined {
  const found = Object.keys(pattern ?? {}).find(name => matchesLinear(name, linear))
  return found === undefined ? undefined : pattern?.[found]
}

/** The rank of each linear's adapter, and what its B·A·x is multiplied by. */
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

/** Ranks of an adapter whose projections have different ones: `rank_pattern` and `alpha_pattern` of PEFT. */
import { UnsupportedError } from './errors.ts'

export type RankKeys = {
  r: number
  lora_alpha: number
  use_rslora: boolean
  rank_pattern?: Record<string, number> | null | undefined
  alpha_pattern?: Record<string, number> | null | undefined
}

/** Projections that the feed-forward part of a layer has; experts have each of them many times. */
const FEED_FORWARD = ['gate_proj', 'up_proj', 'gate_up_proj', 'down_proj']

/** Whether a linear is of the feed-forward part of a layer, of experts or not. */
export const isFeedForward = (linear: string): boolean => linear.includes('.mlp.')

/**
 * How `adapter_config.json` says that feed-forward projections have a rank of their own: `r` is theirs, for
 * PEFT takes no pattern that names a projection of experts, and the others stand in the patterns.
 */
export function rankKeys(
  rank: number,
  expertRank: number | undefined,
  alpha: number,
  modules: readonly string[],
): Pick<RankKeys, 'r' | 'lora_alpha' | 'rank_pattern' | 'alpha_pattern'> {
  if (expertRank === undefined || expertRank === rank)
    return { r: rank, lora_alpha: alpha, rank_pattern: {}, alpha_pattern: {} }
  const others = modules.filter(name => !FEED_FORWARD.includes(name))
  const all = (value: number) => Object.fromEntries(others.map(name => [name, value]))
  return {
    r: expertRank,
    lora_alpha: (alpha * expertRank) / rank,
    rank_pattern: all(rank),
    alpha_pattern: all(alpha),
  }
}

/** Whether a name of a pattern is that of a linear, or the end of it. */
const isOf = (pattern: string, linear: string) => linear === pattern || linear.endsWith(`.${pattern}`)

/** The rank of each linear. Refused is what counts the adapter of one linear otherwise than another's. */
export function ranksOf(path: string, config: RankKeys): (linear: string) => number {
  const [ranks, alphas] = [config.rank_pattern ?? {}, config.alpha_pattern ?? {}]
  const scale = config.lora_alpha / config.r
  const odd = Object.keys({ ...ranks, ...alphas }).find(name => !/^[\w.]+$/.test(name))
  if (odd !== undefined)
    throw new UnsupportedError(`${path}: rank_pattern ${JSON.stringify(odd)} is no name of a projection`)
  for (const name of Object.keys({ ...ranks, ...alphas })) {
    const own = (alphas[name] ?? config.lora_alpha) / (ranks[name] ?? config.r)
    if (config.use_rslora || Math.abs(own / scale - 1) > 1e-9)
      throw new UnsupportedError(
        `${path}: ${name in ranks ? 'rank_pattern' : 'alpha_pattern'}: ${JSON.stringify(name)} counts ` +
          `${own} times and others ${scale} times; ` +
          'only adapters whose alpha / rank is the same everywhere are read',
      )
  }
  return linear => {
    const found = Object.keys(ranks).find(name => isOf(name, linear))
    return (found === undefined ? undefined : ranks[found]) ?? config.r
  }
}

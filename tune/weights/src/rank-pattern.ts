/**
 * Ranks and scales of an adapter's linears: the common ones, or those of PEFT's `rank_pattern` and
 * `alpha_pattern`.
 */
import { UnsupportedError } from './errors.ts'
import { compileNameExpression } from './name-expression.ts'

type Pattern = Readonly<Record<string, number>>

export type RankKeys = {
  r: number
  lora_alpha: number
  use_rslora: boolean
  rank_pattern?: Pattern | null | undefined
  alpha_pattern?: Pattern | null | undefined
}

/** Projections of the feed-forward part of a layer. With experts, each exists once per expert. */
const FEED_FORWARD = ['gate_proj', 'up_proj', 'gate_up_proj', 'down_proj', 'w1', 'w2', 'w3']

/** Whether a linear belongs to the feed-forward part of a layer, with or without experts. */
export const isFeedForward = (linear: string): boolean =>
  linear.includes('.mlp.') || linear.includes('.block_sparse_moe.')

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

const expressions = new Map<string, (linear: string) => boolean>()
const MAX_EXPRESSIONS = 10_000

function matcherOf(name: string): (linear: string) => boolean {
  // Most patterns are names, in which a dot stands for any character.
  if (/^[\w.]+$/.test(name)) {
    const plain = new RegExp(`(?:^|\\.)${name}$`)
    return linear => plain.test(linear)
  }
  const matches = compileNameExpression(name)
  // PEFT anchors an expression at the start of a name or behind any dot in it.
  return linear =>
    matches(linear, new Set([0, ...Array.from(linear.matchAll(/\./g), ({ index }) => index + 1)]))
}

/** A pattern's name as PEFT reads it: an expression for a linear's name or its last parts. */
function expressionOf(name: string): (linear: string) => boolean {
  const known = expressions.get(name)
  if (known) return known
  const made = matcherOf(name)
  if (expressions.size >= MAX_EXPRESSIONS) expressions.clear()
  expressions.set(name, made)
  return made
}

/** Whether a name in a pattern selects a linear. */
export const matchesPattern = (name: string, linear: string): boolean => expressionOf(name)(linear)

/** A pattern's value for a linear: that of the first matching name, as in PEFT. */
export function ofPattern(pattern: Pattern | null | undefined, linear: string): number | undefined {
  const found = Object.keys(pattern ?? {}).find(name => matchesPattern(name, linear))
  return found === undefined ? undefined : pattern?.[found]
}

/** The rank of each linear's adapter, and the factor of its B·A·x. */
export function ranksOf(
  path: string,
  config: RankKeys,
): { rankOf: (linear: string) => number; scaleOf: (linear: string) => number } {
  for (const key of ['rank_pattern', 'alpha_pattern'] as const)
    for (const name of Object.keys(config[key] ?? {}))
      try {
        expressionOf(name)
      } catch (error) {
        throw new UnsupportedError(`${path}: ${key}: ${(error as Error).message}`, { cause: error })
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

/** Reports of a preference step: rewards as TRL defines them, and their inputs. */
import type { Comparison } from './data/comparisons.ts'
import type { Method } from './methods.ts'

/**
 * Sums over the answers of a step. A pair has one chosen and one rejected; a single rated answer is one of
 * either.
 */
export type RewardSums = {
  chosen: { answers: number; reward: number; logps: number }
  rejected: { answers: number; reward: number; logps: number }
  /** Pairs whose chosen answer has the higher reward. */
  ordered: number
  /** Baselines of kto, one per micro-batch. */
  baseline: { count: number; sum: number }
}

export const noRewards = (): RewardSums => ({
  chosen: { answers: 0, reward: 0, logps: 0 },
  rejected: { answers: 0, reward: 0, logps: 0 },
  ordered: 0,
  baseline: { count: 0, sum: 0 },
})

type Settings = { method: Method; beta: number; baseline: number }

/**
 * Adds a micro-batch. `scores` are log-probabilities of its sequences in order. orpo has no reference, so its
 * rewards and reported log-probabilities are means over tokens.
 */
export function addRewards(
  sums: RewardSums,
  units: readonly Comparison[],
  scores: Float32Array,
  { method, beta, baseline }: Settings,
): void {
  let at = 0
  if (method === 'kto') {
    sums.baseline.count++
    sums.baseline.sum += baseline
  }
  for (const { sequences, sign, reference } of units) {
    const rewards = sequences.map(({ isTrained }, i) => {
      const tokens = method === 'orpo' ? isTrained.reduce((sum, flag) => sum + flag, 0) : 1
      const logps = (scores[at++] ?? NaN) / tokens
      const reward = beta * (logps - (method === 'orpo' ? 0 : (reference[i] ?? NaN)))
      const side = i === 0 && sign > 0 ? sums.chosen : sums.rejected
      side.answers++
      side.reward += reward
      side.logps += logps
      return reward
    })
    if (rewards.length === 2 && (rewards[0] ?? NaN) > (rewards[1] ?? NaN)) sums.ordered++
  }
}

/** Mean distance of the mismatched sequences from the reference, at least 0 (kto). */
export function baselineOf(units: readonly Comparison[], scores: Float32Array): number {
  const sum = units.reduce((all, { reference }, i) => all + (scores[i] ?? NaN) - (reference.at(-1) ?? NaN), 0)
  return Math.max(0, sum / units.length)
}

/** Keys of metrics.jsonl for a preference step. */
export type RewardMetrics = {
  /** Mean of β times the log-ratio of the chosen answers to the reference. */
  rewards_chosen?: number
  rewards_rejected?: number
  /** The difference of the two. */
  rewards_margin?: number
  /** Share of the pairs whose chosen answer has the higher reward (dpo, orpo). */
  rewards_accuracy?: number
  /** Mean log-probability of an answer (in orpo of its tokens). */
  logps_chosen?: number
  logps_rejected?: number
  /** Mean baseline (kto). */
  kl?: number
}

/** Means. Keys without a value are left out. */
export function rewardMetrics(sums: RewardSums | undefined): RewardMetrics {
  if (!sums) return {}
  const { chosen, rejected, ordered, baseline } = sums
  const both = chosen.answers > 0 && rejected.answers > 0
  const margin = chosen.reward / chosen.answers - rejected.reward / rejected.answers
  return {
    ...(chosen.answers > 0
      ? { rewards_chosen: chosen.reward / chosen.answers, logps_chosen: chosen.logps / chosen.answers }
      : {}),
    ...(rejected.answers > 0
      ? {
          rewards_rejected: rejected.reward / rejected.answers,
          logps_rejected: rejected.logps / rejected.answers,
        }
      : {}),
    ...(both ? { rewards_margin: margin } : {}),
    ...(baseline.count > 0
      ? { kl: baseline.sum / baseline.count }
      : { rewards_accuracy: ordered / chosen.answers }),
  }
}

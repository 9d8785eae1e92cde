/**
 * Prefill first: a step for new requests alone, which lowers their TTFT. A new request waits for the running
 * step and then for its own, which takes as long as the rows of all sequences together. Its few rows alone
 * are done in a fraction of that, but cost another reading of the weights. So such steps get only a share of
 * the engine's time. What is computed is the same either way.
 */
import type { Chunk } from './scheduler.ts'

/** Prompts of more rows than this are long enough to fill a step. */
const MAX_ROWS = 64
/** Of the engine's time. */
const MAX_TIME_SHARE = 0.1
/** Milliseconds that can be saved up while no request comes. */
const MAX_CREDIT_MS = 100
/** How many times shorter than a step of all it must be. */
const MIN_SPEEDUP = 2
/**
 * How much a typical length moves towards each new one: one long step, as the first that records its program,
 * says little.
 */
const SMOOTHING = 0.1

export type PrefillFirst = {
  /** The part of a plan that runs now: all of it, or the new requests'. */
  choose(plan: readonly Chunk[]): readonly Chunk[]
  /** Learns how long a step took, of a plan that `choose` gave. */
  record(run: readonly Chunk[], isAlone: boolean, milliseconds: number): void
}

const move = (typical: number, seen: number) =>
  typical === 0 ? seen : (1 - SMOOTHING) * typical + SMOOTHING * seen
const isNew = ({ sequence }: Chunk) => sequence.ids.length === sequence.promptLength
const isLast = ({ sequence, count }: Chunk) => sequence.computed + count === sequence.ids.length

export function createPrefillFirst(): PrefillFirst {
  // Typical lengths; a step alone is thought short until one was seen, and again after a while.
  let [all, alone] = [0, 0]
  let credit = MAX_CREDIT_MS

  return {
    choose(plan) {
      const fresh = plan.filter(isNew)
      const rows = fresh.reduce((sum, { count }) => sum + count, 0)
      if (
        fresh.length === 0 ||
        fresh.length === plan.length ||
        rows > MAX_ROWS ||
        !fresh.every(isLast) ||
        credit <= 0
      )
        return plan
      if (alone * MIN_SPEEDUP <= all) return fresh
      alone *= 1 - SMOOTHING
      return plan
    },
    record(run, isAlone, milliseconds) {
      if (isAlone) {
        alone = move(alone, milliseconds)
        credit -= milliseconds
        return
      }
      if (!run.some(isNew)) all = move(all, milliseconds)
      credit = Math.min(MAX_CREDIT_MS, credit + MAX_TIME_SHARE * milliseconds)
    },
  }
}

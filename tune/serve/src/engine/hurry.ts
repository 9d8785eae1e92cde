/**
 * Passes for newcomers alone. Who has no token yet waits for the running pass and then for its own, which is
 * as long as that of everybody else together. A few rows alone are through in a fraction of that. They cost
 * another reading of the weights, so such passes get a share of the engine's time and no more; what is
 * computed is the same either way.
 */
import type { Share } from './scheduler.ts'

/** Prompts of more rows than this are long enough to fill a pass. */
const MOST_ROWS = 64
/** Of the engine's time. */
const TIME_SHARE = 0.1
/** Milliseconds that can be saved up while nobody comes. */
const MOST_CREDIT = 100
/** How many times shorter than a pass of all it must be. */
const LEAST_GAIN = 2
/**
 * How much a typical length moves towards each new one: one long pass, as the first that records its program,
 * says little.
 */
const STEP = 0.1

export type Hurry = {
  /** The part of a plan that runs now: all of it, or the newcomers'. */
  choose(plan: readonly Share[]): readonly Share[]
  /** Learns how long a pass took, of a plan that `choose` gave. */
  record(run: readonly Share[], isAlone: boolean, milliseconds: number): void
}

const move = (typical: number, seen: number) => (typical === 0 ? seen : (1 - STEP) * typical + STEP * seen)
const isNew = ({ sequence }: Share) => sequence.ids.length === sequence.promptLength
const isLast = ({ sequence, count }: Share) => sequence.computed + count === sequence.ids.length

export function createHurry(): Hurry {
  // Typical lengths; a pass alone is thought short until one was seen, and again after a while.
  let [all, alone] = [0, 0]
  let credit = MOST_CREDIT

  return {
    choose(plan) {
      const newcomers = plan.filter(isNew)
      const rows = newcomers.reduce((sum, { count }) => sum + count, 0)
      if (
        newcomers.length === 0 ||
        newcomers.length === plan.length ||
        rows > MOST_ROWS ||
        !newcomers.every(isLast) ||
        credit <= 0
      )
        return plan
      if (alone * LEAST_GAIN <= all) return newcomers
      alone *= 1 - STEP
      return plan
    },
    record(run, isAlone, milliseconds) {
      if (isAlone) {
        alone = move(alone, milliseconds)
        credit -= milliseconds
        return
      }
      if (!run.some(isNew)) all = move(all, milliseconds)
      credit = Math.min(MOST_CREDIT, credit + TIME_SHARE * milliseconds)
    },
  }
}

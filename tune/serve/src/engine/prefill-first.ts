/**
 * Prefill first: runs a step with only the new requests, which lowers their TTFT. Otherwise a new request
 * waits for the running step and then for a step with the rows of all sequences. Its own few rows take a
 * fraction of that time but read all weights once more, so these steps get a limited share of the engine's
 * time. Results are the same either way.
 */
import type { Chunk } from './scheduler.ts'

/** Prompts of more rows than this are long enough to fill a step. */
const MAX_ROWS = 64
/** Share of the engine's time. */
const MAX_TIME_SHARE = 0.1
/** Milliseconds of credit that accumulate while no request arrives. */
const MAX_CREDIT_MS = 100
/** A step of new requests must be this many times shorter than a step of all. */
const MIN_SPEEDUP = 2
/**
 * Weight of a new duration in the moving average. A single long step, such as the one that records a program,
 * has little effect.
 */
const SMOOTHING = 0.1

export type PrefillFirst = {
  /** Returns the chunks to run now: the whole plan, or only those of new requests. */
  choose(plan: readonly Chunk[]): readonly Chunk[]
  /** Records the duration of a step that `choose` returned. */
  record(run: readonly Chunk[], isAlone: boolean, milliseconds: number): void
}

const move = (typical: number, seen: number) =>
  typical === 0 ? seen : (1 - SMOOTHING) * typical + SMOOTHING * seen
const isNew = ({ sequence }: Chunk) => sequence.ids.length === sequence.promptLength
const isLast = ({ sequence, count }: Chunk) => sequence.computed + count === sequence.ids.length

export function createPrefillFirst(): PrefillFirst {
  // Average durations. `alone` starts at zero and decays, so that a step of new requests is tried again.
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

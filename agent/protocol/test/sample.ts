/**
 * Tests that enumerate many cases (every death of a turn, every seed) run a sample in `npm test` and every
 * case with CAIRN_TESTS=all. The sample depends on the commit, so a few commits in a row cover what one
 * leaves out.
 */

export const RUN_ALL = process.env['CAIRN_TESTS'] === 'all'

/** vitest.config.ts sets it from the commit and prints it; CAIRN_SAMPLE=N repeats a run. */
export const SAMPLE = Number(process.env['CAIRN_SAMPLE'] ?? 0)

/** How often something is tried. */
export const rounds = (sample: number, all: number): number => (RUN_ALL ? all : sample)

/** Every `many`-th case, at least one, starting at a place that the sample decides. */
export function oneIn<T>(many: number, cases: readonly T[]): readonly T[] {
  if (RUN_ALL) return cases
  const step = Math.min(many, cases.length)
  return cases.filter((_, at) => at % step === SAMPLE % step)
}

/**
 * Tests over long tables run a sample in `npm test` and every case with CAIRN_TESTS=all. The sample depends
 * on the commit, so commits in a row cover what one leaves out. The suite prints it, and
 * CAIRN_SAMPLE=<number> repeats it.
 */

export const RUN_ALL = process.env['CAIRN_TESTS'] === 'all'

const SAMPLE = Number(process.env['CAIRN_SAMPLE'] ?? 0)

/** Every `n`-th case, at least one. `offset` makes several samples of one table differ. */
export function everyNth<T>(n: number, cases: readonly T[], offset = 0): readonly T[] {
  if (RUN_ALL) return cases
  const step = Math.min(n, cases.length)
  return cases.filter((_, at) => at % step === (SAMPLE + offset) % step)
}

/** One case of each kind. */
export function onePerKind<T>(cases: readonly T[], kindOf: (one: T) => string): readonly T[] {
  return RUN_ALL
    ? cases
    : [...Map.groupBy(cases, kindOf).values()].flatMap(some => everyNth(some.length, some))
}

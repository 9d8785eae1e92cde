/**
 * Tests over long tables run a sample in `npm test` and every case with CAIRN_TESTS=all. The sample depends
 * on the commit, so commits in a row cover what one leaves out. The suite prints it, and
 * CAIRN_SAMPLE=<number> repeats it.
 */

export const RUN_ALL = process.env['CAIRN_TESTS'] === 'all'

const SAMPLE = Number(process.env['CAIRN_SAMPLE'] ?? 0)

/** Every `many`-th case, at least one. Tables that are walked several times begin at places of their own. */
export function oneIn<T>(many: number, cases: readonly T[], place = 0): readonly T[] {
  if (RUN_ALL) return cases
  const step = Math.min(many, cases.length)
  return cases.filter((_, at) => at % step === (SAMPLE + place) % step)
}

/** One case of each kind. */
export function oneOfEach<T>(cases: readonly T[], kindOf: (one: T) => string): readonly T[] {
  return RUN_ALL ? cases : [...Map.groupBy(cases, kindOf).values()].flatMap(some => oneIn(some.length, some))
}

/**
 * Levels follow from the scores alone: recounted from the first one on, however they were split into
 * harvests.
 */
import { RESEARCH_LEVELS, type ResearchLevel, type ResearchSettings, type Scores } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { converge, type Convergence, noConvergence } from './convergence.ts'

const LEVELS = { warn: 3, shift: 5, stop: 8 }
const report: ResearchSettings = {
  mode: 'report',
  max_branches: 50,
  max_parallel: 6,
  improve_at: 40,
  min_delta: 0,
  levels: LEVELS,
}
const metric = (direction: 'max' | 'min', min_delta = 0): ResearchSettings => ({
  ...report,
  mode: 'metric',
  min_delta,
  metric: { command: 'true', direction, timeout_s: 1 },
})

type Scored = number | null | 'failed'
/** Folds the harvests one after the other; returns the level reached in each. */
function run(settings: ResearchSettings, harvests: readonly (readonly Scored[])[]) {
  let state: Convergence = noConvergence
  let next = 0
  const reached: (ResearchLevel | null)[] = []
  for (const harvest of harvests) {
    const keyed = harvest.map(score => [`k${next++}`, score] as const)
    const scores: Scores = Object.fromEntries(
      keyed.flatMap(([key, score]) => (score === 'failed' ? [] : [[key, score]])),
    )
    const converged = converge(state, settings, { folded: keyed.map(([key]) => key), scores })
    reached.push(converged.reached)
    state = converged.after
  }
  return { state, reached }
}

test.each<[what: string, settings: ResearchSettings, harvests: Scored[][], reached: (string | null)[]]>([
  ['warns at three', report, [[10, 10, 10]], ['warn']],
  [
    'reports each level once',
    report,
    [[10], [10], [10], [10], [10], [10]],
    [null, null, 'warn', null, 'shift', null],
  ],
  ['reports only the highest of several levels', report, [[1, 1, 1, 1, 1, 1, 1, 1]], ['stop']],
  ['does not return to a lower level', report, [[1, 1, 1, 1, 1], [1]], ['shift', null]],
  ['restarts after an improvement', report, [[1, 1, 1], [90], [1, 1, 1]], ['warn', null, 'warn']],
  ['reports nothing if the last of many improves', report, [[1, 1, 1, 1, 90]], [null]],
  ['counts failed branches', report, [['failed', 'failed', 'failed']], ['warn']],
  ['does not count branches without a score', report, [[null, 10, null, 10, null]], [null]],
  ['treats a smaller value as better in direction min', metric('min'), [[5, 4, 3, 3, 3, 3]], ['warn']],
  ['requires more than the margin', metric('max', 1), [[5, 6, 6, 6]], ['warn']],
  ['does not count a slow creep as an improvement', metric('max', 1), [[5, 5.5, 6, 5.9]], ['warn']],
])('convergence %s', (_, settings, harvests, reached) => {
  expect(run(settings, harvests).reached).toEqual(reached)
})

const score = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 100 }) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant('failed' as const) },
)
const settings = fc.oneof(
  fc.constant(report),
  fc
    .record({ direction: fc.constantFrom('max' as const, 'min' as const), by: fc.nat({ max: 10 }) })
    .map(({ direction, by }) => metric(direction, by)),
)

/** Recounted from the whole list: the count since the last improvement, and the best score. */
function recount(
  rules: ResearchSettings,
  scores: readonly Scored[],
): { count: number; level: ResearchLevel | null } {
  const sign = rules.metric?.direction === 'min' ? -1 : 1
  let bar = -Infinity
  let count = 0
  for (const each of scores) {
    if (each === null) continue
    const value = each === 'failed' ? -Infinity : sign * each
    const improves = rules.mode === 'report' ? value >= rules.improve_at : value > bar + rules.min_delta
    if (improves && rules.mode === 'metric') bar = value
    count = improves ? 0 : count + 1
  }
  return { count, level: RESEARCH_LEVELS.findLast(level => count >= rules.levels[level]) ?? null }
}

/** Promise 14.5: Research levels depend only on the scores. */
test('the count and level after any harvests equal those of the flat list of their scores', () => {
  fc.assert(
    fc.property(
      settings,
      fc.array(fc.array(score, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
      (rules, harvests) => {
        const { state, reached } = run(rules, harvests)
        const whole = recount(rules, harvests.flat())
        expect([state.count, state.level]).toEqual([whole.count, whole.level])
        // The level reported at each harvest follows from the lists before and after it.
        for (const [at, said] of reached.entries()) {
          const before = recount(rules, harvests.slice(0, at).flat())
          const after = recount(rules, harvests.slice(0, at + 1).flat())
          const anew = after.count < before.count + (harvests[at]?.filter(each => each !== null).length ?? 0)
          const due = after.level !== null && (anew || after.level !== before.level) ? after.level : null
          expect([at, said]).toEqual([at, due])
        }
      },
    ),
  )
})

/**
 * How fast this machine is, so that the budget of the suite means the same work everywhere. The work is what
 * tests do most: JSON, regular expressions, sorting and maps.
 */

/** Milliseconds of one round on the machine for which the budget was set: one core of an AMD EPYC (Zen 1). */
const REFERENCE_MS = 2
const ROUNDS = 15

function work(): number {
  const rows = Array.from({ length: 1500 }, (_, at) => ({
    id: at,
    name: `row ${(at * 7919) % 1500}`,
    tags: ['a', 'b', String(at)],
  }))
  const copy = JSON.parse(JSON.stringify(rows)) as typeof rows
  const byName = new Map(copy.map(row => [row.name, row]))
  const names = [...byName.keys()].toSorted((a, b) => (a < b ? -1 : 1))
  return names.filter(name => /row \d*[13579]$/.test(name)).length
}

/** Milliseconds of one round: the median of some, after as many to warm up. */
export function roundMs(): number {
  const times = Array.from({ length: 2 * ROUNDS }, () => {
    const started = performance.now()
    work()
    return performance.now() - started
  })
  return times.slice(ROUNDS).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? REFERENCE_MS
}

/** How many times as long as on the reference machine this one takes; at least 1. */
export const slowness = (): number => Math.max(1, roundMs() / REFERENCE_MS)

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createWaitingLines } from './waiting-lines.ts'

test('commits that start work overtake the queued chunks, in order', () => {
  const lines = createWaitingLines<string>()
  for (const chunk of ['c1', 'c2', 'c3']) lines.push(chunk, true)
  for (const commit of ['a', 'b']) lines.push(commit, false)
  expect(lines.take(4)).toEqual(['a', 'b', 'c1', 'c2'])
  expect(lines.take(4)).toEqual(['c3'])
  expect(lines.size()).toBe(0)
})

/** Promise 2.6: New work is committed before deltas of running answers, without starving them. */
test('a chunk waits at most for the batches that earlier chunks fill, under any load', () => {
  const lines = createWaitingLines<number>()
  for (let chunk = 0; chunk < 100; chunk++) lines.push(chunk, true)
  const seen: number[] = []
  for (let batch = 1; seen.length < 100; batch++) {
    // More work than fits in a batch, before each one.
    for (let work = 0; work < 64; work++) lines.push(-1, false)
    const taken = lines.take(40)
    expect(taken).toHaveLength(40)
    seen.push(...taken.filter(item => item >= 0))
    expect(seen).toHaveLength(batch * 10)
  }
  expect(seen).toEqual(Array.from({ length: 100 }, (_, chunk) => chunk))
})

test('property: every item is taken once, each queue in order, and no batch exceeds its maximum', () => {
  const step = fc.oneof(
    fc.record({ canWait: fc.boolean() }),
    fc.record({ most: fc.integer({ min: 1, max: 9 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const lines = createWaitingLines<{ canWait: boolean; number: number }>()
      const taken: { canWait: boolean; number: number }[] = []
      let number = 0
      for (const act of steps) {
        if ('canWait' in act) lines.push({ canWait: act.canWait, number: number++ }, act.canWait)
        else {
          const batch = lines.take(act.most)
          expect(batch.length).toBeLessThanOrEqual(act.most)
          taken.push(...batch)
        }
      }
      taken.push(...lines.take(steps.length + 1))
      expect(lines.size()).toBe(0)
      for (const canWait of [true, false]) {
        const numbers = taken.filter(item => item.canWait === canWait).map(item => item.number)
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
      }
      expect(taken).toHaveLength(number)
    }),
    { numRuns: 500 },
  )
})

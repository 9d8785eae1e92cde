/** The simulation itself is tested: the same seed gives the same history, and it finds a planted bug. */
import { oneIn } from '@cairn/protocol/test/sample'
import { expect, test } from 'vitest'
import { makeDataDir } from './seeds.ts'
import { simulate } from './simulate.ts'

const dir = makeDataDir()

test('the same seed gives the same log, byte for byte', async () => {
  let written = 0
  const seeds = oneIn(
    2,
    Array.from({ length: 20 }, (_, at) => 2001 + at),
  )
  for (const seed of seeds) {
    const first = await simulate(seed, dir)
    const again = await simulate(seed, dir)
    expect(again.log).toBe(first.log)
    expect(again).toEqual(first)
    written += first.log.length
  }
  expect(written).toBeGreaterThan(5_000 * seeds.length)
  expect((await simulate(2021, dir)).log).not.toBe((await simulate(2022, dir)).log)
})

test('the simulation detects a store that does not check the lease', async () => {
  const found: string[] = []
  for (let seed = 1; seed <= 40 && found.length === 0; seed++)
    found.push(...(await simulate(seed, dir, { ignoreFence: true })).problems)
  expect(found).not.toEqual([])
})

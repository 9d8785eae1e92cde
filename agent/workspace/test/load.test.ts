import { expect, test } from 'vitest'
import { addressing } from '../src/addressing.ts'
import { ADDRESSINGS, loadWith } from './load.ts'

test('a later import gets the package as it is on this system', async () => {
  for (const wanted of [...ADDRESSINGS, ...ADDRESSINGS.toReversed()]) {
    expect((await loadWith(wanted)).addressing).toBe(wanted)
    expect((await import('../src/index.ts')).addressing).toBe(addressing)
  }
})

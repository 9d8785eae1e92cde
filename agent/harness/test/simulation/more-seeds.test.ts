/** The other half of the seven hundred. */
import { test } from 'vitest'
import { makeDataDir, runSeeds, SEEDS_TIMEOUT_MS } from './seeds.ts'

const dir = makeDataDir()

test('every session ends, every log is sound, no tool runs twice', { timeout: SEEDS_TIMEOUT_MS }, () =>
  runSeeds(dir, 351),
)

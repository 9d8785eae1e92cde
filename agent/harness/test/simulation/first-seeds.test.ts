/** Half of the seven hundred: two files, so that two cores share them. */
import { test } from 'vitest'
import { makeDataDir, runSeeds, SEEDS_TIMEOUT_MS } from './seeds.ts'

const dir = makeDataDir()

/**
 * Promise 7.2: A turn's summary equals the sum over its events, wherever runners die.
 * Promise 7.12: An answered question has one `tool.result` before the next model call, wherever runners die.
 * Promise 7, 8: Every session ends and no tool runs twice, whatever fails.
 */
test('every session ends, every log is sound, no tool runs twice', { timeout: SEEDS_TIMEOUT_MS }, () =>
  runSeeds(dir, 1),
)

/**
 * Many seeds in one test. SIM_SEED and SIM_SEEDS repeat one and try others: `SIM_SEED=17 SIM_SEEDS=1 npm test
 * -- simulation`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RUN_ALL, rounds, SAMPLE } from '@cairn/protocol/test/sample'
import { afterAll, expect } from 'vitest'
import { type SimulationOutcome, simulate } from './simulate.ts'

export function makeDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-simulation-'))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Each must have happened somewhere in some hundred seeds; else the simulation has lost what it is for. */
const RARE = [
  'kills',
  'freezes',
  'drains',
  'snapshots',
  'recoveries',
  'crashes',
  'unknown',
  'stops',
  'pauses',
  'failures',
  'gates',
  'granted',
  'questions',
  'goals',
  'rollbacks',
  'heartbeats',
  'compactions',
  'spawns',
  'results',
  'cascades',
  'stopped_workers',
  'reopened',
  'told_by_people',
  'stopped_by_people',
  'stopped_mid_tree',
  'paused_by_people',
  'paused_by_parent',
  'paused_mid_tree',
  'resumed_by_people',
  'resumed_by_parent',
  'missions',
  'rounds',
  'mission_pauses',
  'mission_resumes',
  'mission_cancels',
  'mission_deadlines',
  'mission_budgets',
  'interrupted_gradings',
  'loop_results',
  'loop_wakes',
  'loop_failures',
  'loop_stops',
  'runs_by_hand',
  'replaced_runs',
  'slots_in_overlap',
  'slots_in_pause',
  'slots_in_backoff',
]

/** The seeds of one file, and how many samples they are divided into. */
const ALL_SEEDS = 350
const SAMPLES = 14
const COUNT = rounds(ALL_SEEDS / SAMPLES, ALL_SEEDS)

/** How long that many seeds may take on a busy machine. */
export const SEEDS_TIMEOUT_MS = 60_000 + Number(process.env['SIM_SEEDS'] ?? COUNT) * 5000

/** Runs seeds of the 350 that begin at `from`; SIM_SEED and SIM_SEEDS choose others. */
export async function runSeeds(dir: string, from: number): Promise<void> {
  const first = Number(process.env['SIM_SEED'] ?? from + (RUN_ALL ? 0 : (SAMPLE % SAMPLES) * COUNT))
  const seeds = Number(process.env['SIM_SEEDS'] ?? COUNT)
  const failed: string[] = []
  const totals: SimulationOutcome['counts'] = {}
  for (let seed = first; seed < first + seeds; seed++) {
    const { problems, counts } = await simulate(seed, dir)
    for (const [name, times] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + times
    if (problems.length > 0)
      failed.push(`SIM_SEED=${seed} SIM_SEEDS=1 repeats it:\n  ${problems.slice(0, 10).join('\n  ')}`)
  }
  console.log(
    `${seeds} seeds from ${first}: ${Object.entries(totals)
      .map(([name, times]) => `${times} ${name}`)
      .join(', ')}`,
  )
  expect(failed.slice(0, 5).join('\n')).toBe('')
  // Two files of 350 seeds: seven hundred trees and more.
  if (seeds >= 350) expect(totals['trees']).toBeGreaterThanOrEqual(seeds)
  if (seeds >= 200) expect(RARE.filter(name => (totals[name] ?? 0) === 0)).toEqual([])
}

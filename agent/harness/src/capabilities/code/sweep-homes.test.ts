/** The home folders of coding agents that a runner removes at its start. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { expect, onTestFinished, test } from 'vitest'
import { homeOf, homesIn, sweepHomes } from './sweep-homes.ts'

type Runs = Awaited<ReturnType<LogStore['codeRuns']['list']>>
/** The runs of each session, with their states. */
const readsOf = (states: Record<string, Record<string, string>>) => ({
  list: (session_id: string) =>
    session_id === 'broken'
      ? Promise.reject(new Error('the log does not answer'))
      : Promise.resolve(
          Object.entries(states[session_id] ?? {}).map(([run_id, state]) => ({ run_id, state })) as Runs,
        ),
})

function makeHomes(runs: readonly (readonly [string, string])[]): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'cairn-homes-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  for (const [session_id, run_id] of runs)
    mkdirSync(join(homeOf(dataDir, session_id, run_id), 'kept'), { recursive: true })
  return dataDir
}

/** Promise 14.18: The next start removes what finished coding runs left on disk. */
test('removes the homes of finished and unknown runs and keeps the others', async () => {
  const dataDir = makeHomes([
    ['s1', 'done'],
    ['s1', 'running'],
    ['s1', 'parked'],
    ['s2', 'unknown'],
  ])
  mkdirSync(join(homesIn(dataDir), 'not-ours'))
  const runs = readsOf({ s1: { done: 'done', running: 'running', parked: 'parked' } })
  expect(await sweepHomes({ dataDir, runs, logger: () => {} })).toBe(2)
  expect(readdirSync(homesIn(dataDir)).toSorted()).toEqual(['not-ours', 's1.parked', 's1.running'])
})

test('logs a warning for a log that cannot be read, and does nothing without the folder', async () => {
  const dataDir = makeHomes([
    ['broken', 'run'],
    ['s1', 'gone'],
  ])
  const lines: string[] = []
  expect(await sweepHomes({ dataDir, runs: readsOf({}), logger: level => lines.push(level) })).toBe(1)
  expect([lines, readdirSync(homesIn(dataDir))]).toEqual([['warn'], ['broken.run']])
  const sweep = (dataDir: string) =>
    sweepHomes({ dataDir, runs: readsOf({}), logger: (_, message) => lines.push(message) })
  expect([await sweep(join(dataDir, 'none')), lines]).toEqual([0, ['warn']])
  writeFileSync(join(dataDir, 'code', 'code'), 'a file where the folder of the runs should be')
  expect(await sweep(join(dataDir, 'code'))).toBe(0)
  expect(lines).toEqual(['warn', 'failed to list the files of coding agents'])
})

/** Signals to ranks at chosen moments, and what a run reports and has saved then. */
import { existsSync, mkdirSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { RanksError, readMetrics, type TrainOptions } from '@cairn-tune/train'
import { rankProcesses } from './rank-runs.ts'

/**
 * A rank to strike: after so many more steps, or that part of a step later, while its weights are read, or
 * while rank 0 writes a checkpoint.
 */
export type Blow = { rank: number; when: number | 'start' | 'checkpoint'; later?: number }

const checkpointsIn = (output: string): number[] => {
  const folder = join(output, 'checkpoints')
  return existsSync(folder)
    ? readdirSync(folder)
        .flatMap(name => /^step-(\d+)$/.exec(name)?.[1] ?? [])
        .map(Number)
    : []
}

/** Signals a rank at its moment. `at` is the time of the signal, and `saved` the newest checkpoint then. */
export function createBlow({ rank, when, later = 0 }: Blow, signal: NodeJS.Signals, output: string) {
  const struck: { at: number | undefined; saved: number } = { at: undefined, saved: 0 }
  let pids: number[] = []
  const strike = () => {
    const pid = pids[rank]
    if (pid === undefined || struck.at !== undefined) return
    struck.saved = Math.max(0, ...checkpointsIn(output))
    struck.at = performance.now()
    process.kill(pid, signal)
  }
  let steps = 0
  const options: TrainOptions = {
    onNote: line => {
      if (!line.startsWith('memory:')) return
      pids = rankProcesses()
      if (when === 'start') strike()
    },
    onStep: ({ seconds }) => {
      steps++
      // A run refuses a folder of checkpoints that it finds when it starts.
      if (when === 'checkpoint' && steps === 1) strikeDuringCheckpoint(output, pids, strike)
      if (when === steps) setTimeout(strike, later * seconds * 1000)
    },
  }
  return { struck, options }
}

/** Holds rank 0 as soon as it writes a checkpoint. If it still does so then, it is the moment. */
function strikeDuringCheckpoint(output: string, [writer]: readonly number[], strike: () => void): void {
  const folder = join(output, 'checkpoints')
  mkdirSync(folder, { recursive: true })
  const watcher = watch(folder, (_, name) => {
    if (!name?.endsWith('.part') || writer === undefined) return
    process.kill(writer, 'SIGSTOP')
    if (existsSync(join(folder, name))) {
      watcher.close()
      strike()
    }
    process.kill(writer, 'SIGCONT')
  })
  onTestFinished(() => watcher.close())
}

export async function failureOf(running: Promise<unknown>): Promise<Error> {
  const reason: unknown = await running.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(reason).toBeInstanceOf(RanksError)
  return reason as Error
}

type Lost = {
  blow: Blow
  ranks: number
  reason: string
  output: string
  /** Whether rank 0 saves the last complete step, unless it is lost itself. */
  savesLast: boolean
}

/** Checks the message of a run that lost a rank, and what it says was saved. Returns the steps saved. */
export async function checkLoss({ message }: Error, lost: Lost): Promise<number> {
  const { blow, ranks, reason, output, savesLast } = lost
  const others = Array.from({ length: ranks }, (_, r) => r).filter(r => r !== blow.rank)
  const parts = new RegExp(
    `^the run stopped (?:before the first step|after step \\d+ of 400): rank ${blow.rank} ${reason}; (.*); ` +
      `(?:no checkpoint has been saved|the state after step (\\d+) is saved: continue with --resume)$`,
  ).exec(message)
  expect(parts, message).not.toBeNull()
  for (const other of others) expect(parts?.[1]).toMatch(new RegExp(`ranks? [^;]*\\b${other}\\b[^;]* `))
  const saved = Math.max(0, ...checkpointsIn(output))
  expect(Number(parts?.[2] ?? 0)).toBe(saved)
  if (savesLast && blow.rank !== 0) expect((await readMetrics(output)).length).toBeLessThanOrEqual(saved)
  return saved
}

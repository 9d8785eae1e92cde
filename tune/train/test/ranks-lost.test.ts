/** A rank that is killed or hangs ends the run in time, and the run resumes as if nothing had happened. */
import { existsSync, mkdirSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { RanksError, readMetrics, type TrainOptions } from '@cairn-tune/train'
import { rankProcesses, withRanks, type Settings } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const RANKS = 4
const settings = (ranks: number, more: Settings): Settings =>
  withRanks(ranks, {
    dataset: bench.writeTexts('texts', textsOf(32, 30)),
    lr_scheduler_type: 'constant',
    save_steps: 2,
    ...more,
  })

/** A rank to kill: after so many more steps, while its weights are read, or while rank 0 writes a checkpoint. */
type Blow = { rank: number; when: number | 'start' | 'checkpoint' }

const BLOWS: readonly Blow[] = [
  { rank: 2, when: 'start' },
  { rank: 3, when: 1 },
  { rank: 0, when: 'checkpoint' },
  { rank: 1, when: 2 },
  { rank: 0, when: 3 },
  { rank: 3, when: 'checkpoint' },
  { rank: 2, when: 4 },
  { rank: 0, when: 'start' },
  { rank: 1, when: 3 },
  { rank: 0, when: 1 },
]

const checkpointsIn = (output: string): number[] => {
  const folder = join(output, 'checkpoints')
  return existsSync(folder)
    ? readdirSync(folder)
        .flatMap(name => /^step-(\d+)$/.exec(name)?.[1] ?? [])
        .map(Number)
    : []
}

/** Signals a rank at its moment. `at` is the time of the signal, and `saved` the newest checkpoint then. */
function createBlow({ rank, when }: Blow, signal: NodeJS.Signals, output: string) {
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
      if (when === 'checkpoint') strikeDuringCheckpoint(output, pids, strike)
    },
    onStep: () => {
      steps++
      if (when === steps) strike()
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

const failureOf = async (running: Promise<unknown>): Promise<Error> => {
  const reason: unknown = await running.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(reason).toBeInstanceOf(RanksError)
  return reason as Error
}

/** Checks the message of a run that lost a rank, and what it says was saved. Returns the steps saved. */
async function checkLoss(
  { message }: Error,
  { rank }: Blow,
  reason: string,
  output: string,
): Promise<number> {
  const others = Array.from({ length: RANKS }, (_, r) => r).filter(r => r !== rank)
  const parts = new RegExp(
    `^the run stopped (?:before the first step|after step \\d+ of 400): rank ${rank} ${reason}; (.*); ` +
      `(?:no checkpoint has been saved|the state after step (\\d+) is saved: continue with --resume)$`,
  ).exec(message)
  expect(parts, message).not.toBeNull()
  for (const other of others) expect(parts?.[1]).toMatch(new RegExp(`ranks? [^;]*\\b${other}\\b[^;]* `))
  const saved = Math.max(0, ...checkpointsIn(output))
  expect(Number(parts?.[2] ?? 0)).toBe(saved)
  // Rank 0 saves the last complete step if it is not the one that was lost.
  if (rank !== 0) expect((await readMetrics(output)).length).toBeLessThanOrEqual(saved)
  return saved
}

test('4 ranks that lose one at each of ten moments have the losses of one rank that loses none', async () => {
  const output = join(bench.directory, 'killed')
  const chained: number[] = []
  let saved = 0
  const blows = everyNth(3, BLOWS)
  for (const blow of blows) {
    const { struck, options } = createBlow(blow, 'SIGKILL', output)
    const given = settings(RANKS, { output_dir: output, max_steps: 400, resume: existsSync(output) })
    const error = await failureOf(bench.run(given, options))
    expect((performance.now() - (struck.at ?? 0)) / 1000, JSON.stringify(blow)).toBeLessThan(10)
    const newest = await checkLoss(error, blow, 'was killed by SIGKILL', output)
    expect(newest).toBeGreaterThanOrEqual(struck.saved)
    expect(rankProcesses()).toEqual([])
    const lost = (await readMetrics(output)).filter(({ step }) => step > saved && step <= newest)
    chained.push(...lost.map(({ loss }) => loss))
    saved = newest
  }
  const last = await bench.run(settings(RANKS, { output_dir: output, max_steps: saved + 2, resume: true }))
  const whole = await bench.run(settings(1, { max_steps: saved + 2 }))
  expect([...chained, ...losses(last)]).toEqual(losses(whole))
})

test('a rank that hangs counts as lost after rank_timeout, and the run resumes', async () => {
  const output = join(bench.directory, 'hung')
  const [blow, timeout] = [{ rank: 1, when: 2 }, 4]
  const { struck, options } = createBlow(blow, 'SIGSTOP', output)
  const given = settings(RANKS, { output_dir: output, max_steps: 400, rank_timeout: timeout })
  const error = await failureOf(bench.run(given, options))
  const seconds = (performance.now() - (struck.at ?? 0)) / 1000
  expect(seconds).toBeGreaterThan(timeout - 1.5)
  expect(seconds).toBeLessThan(timeout + 10)
  const reason = `gave no sign of life for ${timeout} s \\(rank_timeout\\)`
  const saved = await checkLoss(error, blow, reason, output)
  expect(rankProcesses()).toEqual([])
  const last = await bench.run(settings(1, { output_dir: output, max_steps: saved + 1, resume: true }))
  const whole = await bench.run(settings(1, { max_steps: saved + 1 }))
  expect([...(await readMetrics(output)).slice(0, saved).map(({ loss }) => loss), ...losses(last)]).toEqual(
    losses(whole),
  )
})

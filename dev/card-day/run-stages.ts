/**
 * Runs stages one after the other within a time limit, and writes what each printed. A stage that has no time
 * left is left out, and the report says so: whatever ends the call early keeps what was measured.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Stage = {
  name: string
  /** What its output answers. */
  about: string
  /** The program and its arguments; or why the stage cannot run here. */
  command: readonly string[] | string
  /** Its own limit. */
  seconds: number
  /** It is left out if less than this is left of the whole time. */
  minSeconds: number
  /** Without its success nothing else is worth measuring. */
  isRequired?: boolean
}

export type StageOutcome = {
  stage: string
  status: 'passed' | 'failed' | 'out of time' | 'left out'
  seconds: number
  /** Why it did not pass. */
  reason?: string
}

type RunOptions = {
  output: string
  seconds: number
  env?: NodeJS.ProcessEnv
  /** Receives a line per stage. */
  log: (line: string) => void
  /** Milliseconds that only grow. */
  now?: () => number
}

/** Bytes kept of what a stage prints, its beginning and its end: results must be small enough to carry. */
const KEPT_BYTES = 128 * 1024
/** A stopped stage may still print what it has. */
const STOP_MS = 2000

export const RESULTS = 'stages.jsonl'
export const REPORT = 'report.md'

/** Runs the stages, and writes `report.md`, `stages.jsonl` and one log per stage. */
export async function runStages(stages: readonly Stage[], options: RunOptions): Promise<StageOutcome[]> {
  const { output, seconds, log, now = () => performance.now() } = options
  mkdirSync(output, { recursive: true })
  writeFileSync(join(output, RESULTS), '')
  const started = now()
  const outcomes: StageOutcome[] = []
  let failed: string | undefined
  for (const stage of stages) {
    const left = seconds - (now() - started) / 1000
    const outcome =
      failed === undefined
        ? await runOrLeaveOut(stage, left, options, now)
        : leftOut(stage, `${failed} failed`)
    outcomes.push(outcome)
    log(lineOf(outcome))
    appendFileSync(join(output, RESULTS), `${JSON.stringify(outcome)}\n`)
    if (stage.isRequired && outcome.status !== 'passed') failed ??= stage.name
    writeFileSync(join(output, REPORT), reportOf(stages, outcomes, (now() - started) / 1000, seconds))
  }
  return outcomes
}

const leftOut = ({ name }: Stage, reason: string): StageOutcome => ({
  stage: name,
  status: 'left out',
  seconds: 0,
  reason,
})

async function runOrLeaveOut(
  stage: Stage,
  left: number,
  options: RunOptions,
  now: () => number,
): Promise<StageOutcome> {
  if (typeof stage.command === 'string') return leftOut(stage, stage.command)
  if (left < stage.minSeconds)
    return leftOut(stage, `${Math.max(0, left).toFixed(0)} s left, ${stage.minSeconds} s needed`)
  return await runOne(stage, stage.command, Math.min(stage.seconds, left), options, now)
}

async function runOne(
  { name }: Stage,
  [program = '', ...args]: readonly string[],
  limit: number,
  { output, env }: RunOptions,
  now: () => number,
): Promise<StageOutcome> {
  const started = now()
  // A group of its own, so that its children end with it.
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: env ?? process.env,
  })
  const text = keepEnds(KEPT_BYTES)
  child.stdout.on('data', (bytes: Buffer) => text.add(bytes))
  child.stderr.on('data', (bytes: Buffer) => text.add(bytes))
  let isStopped = false
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch (error) {
      // The group has ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const timers = [
    setTimeout(() => {
      isStopped = true
      kill('SIGTERM')
    }, limit * 1000),
    setTimeout(() => kill('SIGKILL'), limit * 1000 + STOP_MS),
  ]
  const ended = await new Promise<string | undefined>(resolve => {
    child.once('error', error => resolve(`cannot start ${program}: ${error.message}`))
    child.once('close', (code, signal) =>
      resolve(code === 0 ? undefined : signal === null ? `exit code ${code}` : `ended by ${signal}`),
    )
  })
  for (const timer of timers) clearTimeout(timer)
  const seconds = (now() - started) / 1000
  writeFileSync(join(output, `${name}.log`), text.all())
  if (isStopped)
    return { stage: name, status: 'out of time', seconds, reason: `stopped after ${limit.toFixed(0)} s` }
  return ended === undefined
    ? { stage: name, status: 'passed', seconds }
    : { stage: name, status: 'failed', seconds, reason: `${ended}; see ${name}.log` }
}

/** The first and the last bytes of a stream, half of `limit` each. */
function keepEnds(limit: number): { add: (bytes: Buffer) => void; all: () => Buffer } {
  const half = limit / 2
  let [first, last, dropped] = [Buffer.alloc(0), Buffer.alloc(0), 0]
  return {
    add(bytes) {
      const room = Math.max(0, half - first.length)
      first = Buffer.concat([first, bytes.subarray(0, room)])
      const rest = Buffer.concat([last, bytes.subarray(room)])
      const surplus = Math.max(0, rest.length - half)
      dropped += surplus
      last = rest.subarray(surplus)
    },
    all: () =>
      dropped === 0
        ? Buffer.concat([first, last])
        : Buffer.concat([first, Buffer.from(`\n… ${dropped} bytes left out …\n`), last]),
  }
}

function lineOf({ stage, status, seconds, reason }: StageOutcome): string {
  const time = seconds > 0 ? ` in ${seconds.toFixed(1)} s` : ''
  return `${stage}: ${status}${time}${reason === undefined ? '' : ` (${reason})`}`
}

function reportOf(
  stages: readonly Stage[],
  outcomes: readonly StageOutcome[],
  seconds: number,
  limit: number,
): string {
  const rows = outcomes.map(
    ({ stage, status, seconds: spent, reason = '' }) =>
      `| ${stage} | ${stages.find(({ name }) => name === stage)?.about ?? ''} | ${status} | ` +
      `${spent.toFixed(1)} | ${reason} |`,
  )
  const missing = outcomes.filter(({ status }) => status === 'left out' || status === 'out of time')
  return [
    '# A card, measured',
    '',
    `${seconds.toFixed(0)} s of ${limit} s. ` +
      (missing.length === 0
        ? 'Nothing was left out.'
        : `Left out or cut: ${missing.map(({ stage }) => stage).join(', ')}.`),
    '',
    '| stage | answers | result | s | reason |',
    '|---|---|---|---:|---|',
    ...rows,
    '',
  ].join('\n')
}

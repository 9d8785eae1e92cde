/**
 * Starts the ranks of a run as processes of this machine, and ends all of them when one is lost. This process
 * trains nothing itself, so it survives the loss of any rank.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { createGroup } from '@cairn-tune/native'
import { moduleBeside } from '@cairn/tooling/beside'
import { listCheckpoints } from '../checkpoint.ts'
import type { TrainConfig } from '../config.ts'
import type { StepMetrics, TrainOptions, TrainResult } from '../metrics.ts'
import { joinWords, lossOf, type Outcome } from './loss-of-ranks.ts'
import type { FromRank, ToRank } from './messages.ts'

const PROGRAM = moduleBeside(import.meta, './rank-process')

/** Ranks that fail for the same reason report it within this time. */
const GRACE_MS = 500
/** Then the others have this long to stop and to save the last complete step. */
const END_MS = 7000
const LOOK_MS = 500
/** A busy machine may take this many timeouts to start a process. */
const START_PATIENCE = 10

type Rank = {
  number: number
  child: ChildProcess
  /** Time of its last message. */
  lastSign: number
  hasStarted: boolean
  /** What the rank reported, or why it was killed. */
  outcome: Outcome | undefined
  /** Resolves when its process has ended. */
  ended: Promise<void>
}

/** Trains on `ranks` processes. If one is lost, rejects with one sentence that has the reason of every rank. */
export async function trainOnRanks(config: TrainConfig, options: TrainOptions): Promise<TrainResult> {
  const { signal, onNote, onStep, threads } = options
  signal?.throwIfAborted()
  let last: StepMetrics | undefined
  let result: TrainResult | undefined
  const file = await createGroup(config.ranks, onNote)
  const ranks = Array.from({ length: config.ranks }, (_, number) =>
    startRank(number, file, () => ending.isOn()),
  )
  closeSync(file)
  const ending = createEnding(ranks)
  const take = (rank: Rank, message: FromRank) => {
    rank.lastSign = performance.now()
    rank.hasStarted = true
    if (message.kind === 'note') onNote?.(message.line)
    else if (message.kind === 'step') {
      last = message.metrics
      onStep?.(message.metrics)
    } else if (message.kind === 'finished') {
      rank.outcome = { kind: 'finished' }
      result ??= message.result
    } else if (message.kind === 'failed') {
      rank.outcome = { kind: 'failed', failure: message.failure, wasEnded: ending.isOn() }
      ending.begin(rank.number)
    }
  }
  for (const rank of ranks) {
    rank.child.on('message', (message: FromRank) => take(rank, message))
    void rank.ended.then(() => {
      if (rank.outcome?.kind !== 'finished') ending.begin(rank.number)
    })
    send(rank, { kind: 'start', config, rank: rank.number, threads })
  }
  const onAbort = () => {
    for (const rank of ranks) send(rank, { kind: 'stop', reason: reasonOf(signal) })
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  const watch = setInterval(() => {
    for (const rank of ranks) endIfSilent(rank, config.rank_timeout)
  }, LOOK_MS)
  try {
    await Promise.all(ranks.map(({ ended }) => ended))
  } finally {
    clearInterval(watch)
    ending.clear()
    signal?.removeEventListener('abort', onAbort)
  }
  if (result && ranks.every(({ outcome }) => outcome?.kind === 'finished')) return result
  if (signal?.aborted && ranks.every(({ outcome }) => outcome?.kind !== 'lost')) signal.throwIfAborted()
  throw lossOf(
    ranks.map(
      ({ outcome }) => outcome ?? { kind: 'lost', reason: 'ended without a reason', wasEnded: false },
    ),
    { last, saved: (await listCheckpoints(config.output_dir)).at(-1) },
  )
}

/** `isEnding`: whether another rank was lost before. */
function startRank(number: number, file: number, isEnding: () => boolean): Rank {
  const child = fork(PROGRAM, [], {
    serialization: 'advanced',
    execArgv: [],
    // What a rank prints when it crashes is for people, too.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', file],
  })
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const rank: Rank = {
    number,
    child,
    lastSign: performance.now(),
    hasStarted: false,
    outcome: undefined,
    ended,
  }
  child.once('error', error => {
    rank.outcome ??= { kind: 'lost', reason: `cannot be started (${error.message})`, wasEnded: false }
    resolve()
  })
  child.once('exit', (code, killer) => {
    const conclude = () => {
      rank.outcome ??= {
        kind: 'lost',
        reason: killer === null ? `exited with code ${code}` : `was killed by ${killer}`,
        wasEnded: isEnding(),
      }
      resolve()
    }
    // Its last messages may still be on their way.
    if (child.connected) child.once('disconnect', conclude)
    else conclude()
  })
  return rank
}

/** A rank that has just ended receives nothing, and need not. */
function send({ child }: Rank, message: ToRank): void {
  if (child.connected) child.send(message, () => undefined)
}

function endIfSilent(rank: Rank, timeoutSeconds: number): void {
  const silent = (performance.now() - rank.lastSign) / 1000
  const limit = rank.hasStarted ? timeoutSeconds : START_PATIENCE * timeoutSeconds
  if (rank.outcome || silent < limit) return
  rank.outcome = {
    kind: 'lost',
    reason: rank.hasStarted
      ? `gave no sign of life for ${limit} s (rank_timeout)`
      : `did not start within ${limit} s`,
    wasEnded: false,
  }
  rank.child.kill('SIGKILL')
}

/** Ends the other ranks after the first one was lost: they stop by themselves, or are killed. */
function createEnding(ranks: readonly Rank[]) {
  const lost: number[] = []
  let isOn = false
  const timers: NodeJS.Timeout[] = []
  const living = () => ranks.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  const end = () => {
    isOn = true
    const reason = `ended because of rank ${joinWords(lost)}`
    for (const rank of living()) send(rank, { kind: 'end', reason })
    timers.push(setTimeout(kill, END_MS))
  }
  const kill = () => {
    for (const rank of living()) {
      rank.outcome ??= { kind: 'lost', reason: 'did not stop in time and was killed', wasEnded: true }
      rank.child.kill('SIGKILL')
    }
  }
  return {
    isOn: () => isOn,
    begin(number: number) {
      if (isOn) return
      if (!lost.includes(number)) lost.push(number)
      if (timers.length === 0) timers.push(setTimeout(end, GRACE_MS))
    },
    clear() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

const reasonOf = (signal: AbortSignal | undefined): string =>
  signal?.reason instanceof Error ? signal.reason.message : 'interrupted'

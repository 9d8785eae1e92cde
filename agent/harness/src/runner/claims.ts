/**
 * Claims sessions with work, up to the number of places for turns, and starts their runs a few at a time.
 *
 *   idle      no poll                            a notification → polling
 *   polling   polls the store                    a notification → again; nothing left → idle
 *   again     polls, and will poll once more     the next round → polling
 *   stopped   claims nothing any more            (from any state; running turns continue)
 */
import { performance } from 'node:perf_hooks'
import type { Claim, LogStore } from '@cairn/log'
import { type Clock, sleep } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import { asError, checkedState, type Config } from '@cairn/protocol'
import { holdLease, type Lease } from '../turn/lease.ts'

export type Claims = {
  /** Polls for work; one poll at a time, and a call during a poll causes another one. */
  poll(): void
  stop(): void
  /** The running poll; null: none. */
  polling(): Promise<void> | null
}

export function createClaims(deps: {
  store: { leases: Pick<LogStore['leases'], 'claim'> }
  runnerId: string
  limits: Pick<Config['limits'], 'concurrent_turns' | 'tree_parallel' | 'principal_turns' | 'child_share'>
  /** Maximum concurrent scheduled runs per principal; null: no limit. */
  maxRuns: number | null
  ttlMs: number
  logger: Logger
  runs: Runs
}): Claims {
  const { store, runnerId, limits, maxRuns, ttlMs, logger, runs } = deps
  const { concurrent_turns: maxTurns, tree_parallel, principal_turns } = limits
  /**
   * Children never take all places, so that a person's turn does not wait for them, but they always have one.
   */
  const maxChildTurns = Math.max(1, Math.floor(maxTurns * limits.child_share))
  const state = checkedState('claims', 'idle', {
    idle: ['polling', 'stopped'],
    polling: ['again', 'idle', 'stopped'],
    again: ['polling', 'stopped'],
    stopped: [],
  })
  let polling: Promise<void> | null = null

  function poll(): void {
    if (state.is('polling')) state.to('again')
    if (!state.is('idle')) return
    state.to('polling')
    polling = pollUntilEmpty().finally(() => {
      polling = null
    })
  }

  async function pollUntilEmpty(): Promise<void> {
    do {
      if (state.is('again')) state.to('polling')
      if (await claimOnce()) poll()
    } while (state.is('again'))
    if (state.is('polling')) state.to('idle')
  }

  /** Whether every free place was taken, so there may be more work. */
  async function claimOnce(): Promise<boolean> {
    const free = maxTurns - runs.count()
    if (free <= 0) return false
    try {
      const claimed = await store.leases.claim(runnerId, free, ttlMs, {
        tree_parallel,
        principal_turns,
        principal_runs: maxRuns,
        children: Math.max(0, maxChildTurns - runs.countChildren()),
      })
      for (const claim of claimed) runs.begin(claim, poll)
      return claimed.length === free
    } catch (error) {
      logger('error', 'claiming work failed; the slow poll will retry', { error: asError(error).message })
      return false
    }
  }

  return {
    poll,
    stop() {
      if (!state.is('stopped')) state.to('stopped')
    },
    polling: () => polling,
  }
}

/** The sessions that a runner is running. */
export type Runs = {
  /** `onEnd` is called when the run has ended, successfully or not. */
  begin(claim: Claim, onEnd: () => void): void
  count(): number
  /** Number of running child sessions. */
  countChildren(): number
  holds(sessionId: string): boolean
  /** The latest lease of each session; earlier runs that are still ending no longer own theirs. */
  latestLeases(): Lease[]
  /** All leases, including those of runs that are ending. */
  leases(): Iterable<Lease>
  /** Each resolves with the end of its run and never rejects. */
  ends(): Promise<void>[]
}

type Run = { lease: Lease; isChild: boolean; done: Promise<void> }

/** `act` reports when the turn has started. */
export function createRuns(
  act: (claim: Claim, lease: Lease, onStarted: () => void) => Promise<void>,
  admission: TurnAdmission,
): Runs {
  const runs = new Map<string, Run>()
  const leases = new Set<Lease>()
  return {
    begin(claim, onEnd) {
      const { id, parent_id } = claim.session
      const lease = holdLease(id, claim.fence)
      leases.add(lease)
      // A turn that was just paused may still be ending its tools; the next one waits, because both use the
      // same workspace.
      const before = runs.get(id)?.done ?? Promise.resolve()
      const done = before
        .then(async () => {
          const started = await admission.enter()
          await act(claim, lease, started).finally(started)
        })
        .finally(() => {
          leases.delete(lease)
          if (runs.get(id)?.lease === lease) runs.delete(id)
          onEnd()
        })
      runs.set(id, { lease, isChild: parent_id !== null, done })
    },
    count: () => runs.size,
    countChildren: () => [...runs.values()].filter(run => run.isChild).length,
    holds: sessionId => runs.has(sessionId),
    latestLeases: () => [...runs.values()].map(run => run.lease).filter(lease => !lease.signal.aborted),
    leases: () => leases,
    ends: () => [...runs.values()].map(run => run.done),
  }
}

/** Maximum concurrent starts in a saturated process. */
const MAX_STARTING = 8
/** A turn that takes longer to start waits for something other than this process. */
const MAX_START_MS = 250
/** Maximum queueing time: under heavy overload, starting late is better than starving new turns. */
const MAX_WAIT_MS = 800

/**
 * Limits how many turns start at once. A turn costs most before its first model call. In a saturated process,
 * starting many together delays all of them and the running ones, so they start a few at a time (decision
 * 20).
 */
export type TurnAdmission = {
  /** Resolves when one more turn may start, with a function that reports that it has. */
  enter(): Promise<() => void>
}

export function createTurnAdmission({
  clock,
  isBusy,
}: {
  clock: Pick<Clock, 'after'>
  isBusy: () => boolean
}): TurnAdmission {
  const waiting: (() => void)[] = []
  let starting = 0

  const hasRoom = (): boolean => starting < MAX_STARTING || !isBusy()

  function take(): () => void {
    starting += 1
    let isOver = false
    const leave = (): void => {
      cancel()
      if (isOver) return
      isOver = true
      starting -= 1
      while (waiting.length > 0 && hasRoom()) waiting.shift()?.()
    }
    const cancel = clock.after(MAX_START_MS, leave)
    return leave
  }

  return {
    enter: () =>
      waiting.length === 0 && hasRoom()
        ? Promise.resolve(take())
        : new Promise(resolve => {
            const enter = (): void => {
              cancel()
              resolve(take())
            }
            const cancel = clock.after(MAX_WAIT_MS, () => {
              waiting.splice(waiting.indexOf(enter), 1)
              enter()
            })
            waiting.push(enter)
          }),
  }
}

/** Minimum interval of a measurement. */
const WINDOW_MS = 20
/** The event loop utilization from which the process counts as saturated; new work then queues up. */
const FULL = 0.75

type Loop = Pick<typeof performance, 'now' | 'eventLoopUtilization'>

/** True when the event loop was saturated recently. */
export function monitorEventLoop(loop: Loop = performance): () => boolean {
  let from = loop.eventLoopUtilization()
  let at = loop.now()
  let isBusy = false
  return () => {
    const now = loop.now()
    if (now - at >= WINDOW_MS) {
      isBusy = loop.eventLoopUtilization(from).utilization >= FULL
      from = loop.eventLoopUtilization()
      at = now
    }
    return isBusy
  }
}

const BUSY_POLL_MS = 250
/** Maximum polls: after that the work runs even under load. */
const MAX_BUSY_POLLS = 40

/** For background work. Rejects with the signal's reason. */
export async function waitUntilFree(clock: Clock, isBusy: () => boolean, signal: AbortSignal): Promise<void> {
  for (let polls = 0; polls < MAX_BUSY_POLLS && isBusy(); polls++) await sleep(clock, BUSY_POLL_MS, signal)
}

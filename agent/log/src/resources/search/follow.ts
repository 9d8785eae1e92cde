/**
 * Keeps the index close to the ends of the logs: logs that grew are collected and indexed after a short
 * delay, so that a turn's events are indexed in few ranges. At the start, and after a failure, all logs are
 * compared.
 *
 *   idle      no log is known to be behind
 *   due       a log grew; waits for more
 *   working   a round is running; logs that grow during it belong to the next round
 *   stopped   permanently
 */
import { asError, checkedState } from '@cairn/protocol'
import type { SessionStore } from '../../store.ts'

type Follower = {
  /** That session's log may have grown; null: any log may have. */
  grew(sessionId: string | null): void
  stop(): Promise<void>
}
type Options = {
  watch: SessionStore['watch']
  /** Indexes these sessions' logs; null: all that are behind. */
  index(ids: readonly string[] | null): Promise<void>
  report: (message: string) => void
  waitMs?: number
}

/** How often all logs are compared, for those that a process left unindexed when it died. */
const COMPARE_MS = 60_000
const WAIT_MS = 1_000
const RETRY_MS = 10_000

function createFollower({ index, report, waitMs = WAIT_MS }: Omit<Options, 'watch'>): Follower {
  const state = checkedState('search follower', 'idle', {
    idle: ['due', 'working', 'stopped'],
    due: ['working', 'stopped'],
    working: ['idle', 'due', 'stopped'],
    stopped: [],
  })
  let grown = new Set<string>()
  let all = false
  let timer: NodeJS.Timeout | null = null
  let round: Promise<void> = Promise.resolve()

  async function work(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    state.to('working')
    const ids = all ? null : [...grown]
    grown = new Set()
    all = false
    let wait = waitMs
    try {
      await index(ids)
    } catch (error) {
      report(asError(error).message)
      all = true
      wait = RETRY_MS
    }
    if (state.is('stopped')) return
    state.to('idle')
    if (all || grown.size > 0) begin(wait)
  }
  function begin(ms: number): void {
    state.to('due')
    timer = setTimeout(() => void (round = work()), ms)
    timer.unref()
  }

  return {
    grew(sessionId) {
      if (sessionId === null) all = true
      else if (!all) grown.add(sessionId)
      if (state.is('idle')) begin(waitMs)
    },
    async stop() {
      if (timer !== null) clearTimeout(timer)
      if (!state.is('stopped')) state.to('stopped')
      await round
    },
  }
}

/** Indexes existing and future commits; returns a function that stops it. */
export function followLogs({ watch, ...options }: Options): () => Promise<void> {
  const follower = createFollower(options)
  const unwatch = watch(sessionId => follower.grew(sessionId))
  const comparing = setInterval(() => follower.grew(null), COMPARE_MS)
  comparing.unref()
  follower.grew(null)
  return () => {
    clearInterval(comparing)
    unwatch()
    return follower.stop()
  }
}

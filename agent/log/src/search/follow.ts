/**
 * Keeps the index near the ends of the logs: who grew is remembered, and looked after some moments later, so
 * that a turn's events come in few stretches. At the beginning, and after a failure, all logs are compared.
 *
 *   idle      nothing is behind that it knows of
 *   due       something grew; it waits for more
 *   working   one round is under way; what grows meanwhile is the next round's
 *   stopped   for good
 */
import { asError, checkedState } from '@cairn/protocol'
import type { LogStore } from '../store.ts'

type Follower = {
  /** That session's log may have grown; null: any may have. */
  grew(sessionId: string | null): void
  stop(): Promise<void>
}
type Options = {
  watch: LogStore['watchSessions']
  /** Brings these sessions' logs in; null: whatever is behind. */
  index(ids: readonly string[] | null): Promise<void>
  report: (message: string) => void
  waitMs?: number
}

/** How often all logs are compared, for those that a process left behind which is gone. */
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
    } catch (thrown) {
      report(asError(thrown).message)
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

/** Indexes whatever is committed from now on, and what is behind already; returns how to stop. */
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

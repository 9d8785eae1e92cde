/**
 * Claims sessions that have work, as many as there are places for turns.
 *
 *   idle      nothing is looked for            a nudge → looking
 *   looking   the store is asked               a nudge → again; nothing left → idle
 *   again     it is asked, and once more then  the next round → looking
 *   stopped   no session is claimed any more   (from any of them; the running turns go on)
 */
import type { LogStore } from '@cairn/log'
import { asError, checkedState, type Config } from '@cairn/protocol'
import type { Log } from './log.ts'
import type { Runs } from './runs.ts'

export type Claims = {
  /** Looks for work; one look at a time, and a call that comes meanwhile makes it look once more. */
  look(): void
  stop(): void
  /** The look that goes on right now; null: none. */
  looking(): Promise<void> | null
}

export function createClaims(deps: {
  store: Pick<LogStore, 'claim'>
  workerId: string
  limits: Pick<Config['limits'], 'concurrent_turns' | 'tree_parallel' | 'principal_turns' | 'child_share'>
  /** Runs of schedules of one principal at a time; null: no limit. */
  maxRuns: number | null
  ttlMs: number
  log: Log
  runs: Runs
}): Claims {
  const { store, workerId, limits, maxRuns, ttlMs, log, runs } = deps
  const { concurrent_turns: places, tree_parallel, principal_turns } = limits
  /** Children never take all places, so that a person's turn need not wait for one of them; one they always have. */
  const placesOfChildren = Math.max(1, Math.floor(places * limits.child_share))
  const state = checkedState('claims', 'idle', {
    idle: ['looking', 'stopped'],
    looking: ['again', 'idle', 'stopped'],
    again: ['looking', 'stopped'],
    stopped: [],
  })
  let looking: Promise<void> | null = null

  function look(): void {
    if (state.is('looking')) state.to('again')
    if (!state.is('idle')) return
    state.to('looking')
    looking = lookUntilNothingIsLeft().finally(() => {
      looking = null
    })
  }

  async function lookUntilNothingIsLeft(): Promise<void> {
    do {
      if (state.is('again')) state.to('looking')
      if (await claimOnce()) look()
    } while (state.is('again'))
    if (state.is('looking')) state.to('idle')
  }

  /** Whether every free place was taken, so that there may be more. */
  async function claimOnce(): Promise<boolean> {
    const free = places - runs.count()
    if (free <= 0) return false
    try {
      const claimed = await store.claim(workerId, free, ttlMs, {
        tree_parallel,
        principal_turns,
        principal_runs: maxRuns,
        children: Math.max(0, placesOfChildren - runs.countChildren()),
      })
      for (const claim of claimed) runs.begin(claim, look)
      return claimed.length === free
    } catch (thrown) {
      log('error', 'claiming work failed; the slow poll tries again', { error: asError(thrown).message })
      return false
    }
  }

  return {
    look,
    stop() {
      if (!state.is('stopped')) state.to('stopped')
    },
    looking: () => looking,
  }
}

/**
 * Claims sessions with work, up to the number of places for turns.
 *
 *   idle      no poll                            a notification → looking
 *   looking   polls the store                    a notification → again; nothing left → idle
 *   again     polls, and will poll once more     the next round → looking
 *   stopped   claims nothing any more            (from any state; running turns continue)
 */
import type { LogStore } from '@cairn/log'
import { asError, checkedState, type Config } from '@cairn/protocol'
import type { Logger } from '@cairn/models/logger'
import type { Runs } from './runs.ts'

export type Claims = {
  /** Polls for work; one poll at a time, and a call during a poll causes another one. */
  poll(): void
  stop(): void
  /** The running poll; null: none. */
  polling(): Promise<void> | null
}

export function createClaims(deps: {
  store: Pick<LogStore, 'claim'>
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
      const claimed = await store.claim(runnerId, free, ttlMs, {
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

/** Due timers: what each kind does, in the commit that fires it. */
import { type Commit, CommitRefused, type Timer, type TimerKind } from '@cairn/log'
import { isTreeMoved } from '../tree/commit-tree.ts'
import { composeDeadline } from './deadline.ts'
import { composeTimeout } from '../tree/delegation.ts'
import type { Deps } from '../deps.ts'
import { composeSchedule } from '../schedule-commands/fire.ts'
import { composeRetire } from './retire-run.ts'
import { composeStale } from '../tree/stale.ts'

const TRIES = 10

type Fired = Promise<Omit<Commit, 'session_id'>>
const COMPOSE: Record<TimerKind, (deps: Deps, timer: Timer) => Fired> = {
  delegation: composeTimeout,
  stale: ({ store }, timer) => composeStale(store, timer),
  deadline: composeDeadline,
  schedule: composeSchedule,
  retire: composeRetire,
}

/** Rebuilds and retries the commit while the tree changes. If the timer is gone, another runner fired it. */
export async function fireTimer(deps: Deps, timer: Timer): Promise<void> {
  for (let tries = 1; ; tries++) {
    const commit = await COMPOSE[timer.kind](deps, timer)
    try {
      await deps.store.commit({ session_id: timer.session_id, ...commit })
      return
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      if (error.refusal === 'timer_gone') return
      if (!(isTreeMoved(error.refusal) || error.refusal === 'wrong_status') || tries >= TRIES) throw error
    }
  }
}

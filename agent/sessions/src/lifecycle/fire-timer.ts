/** Due timers: what each kind does, in the commit that fires it. */
import { type Commit, CommitRefused, type RowChange, type Timer, type TimerKind } from '@cairn/log'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { readMission } from '../missions/define.ts'
import { missionOutOfTime } from '../missions/messages.ts'
import { composeSchedule } from '../schedule-commands/fire.ts'
import { BUSY_TRIES, isTreeMoved, MAX_ATTEMPTS, readTree, revokeLeases } from '../tree/commit-tree.ts'
import { composeTimeout } from '../tree/delegation.ts'
import { composeChildEnd, endDescendants } from '../tree/end-tree.ts'
import { composeStale } from '../tree/stale.ts'
import { retireTimer } from '../tree/timers.ts'
import { composeArchive } from './archive.ts'
import { composeStop } from './stop.ts'

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
      if (!(isTreeMoved(error.refusal) || error.refusal === 'wrong_status') || tries >= MAX_ATTEMPTS)
        throw error
      if (tries >= BUSY_TRIES) await revokeLeases(deps, revokedBy(commit))
    }
  }
}

/** The sessions whose leases the commit revokes. While it is refused, they are revoked without it (isBusy). */
const revokedBy = ({ also = [] }: Pick<Commit, 'also'>): string[] =>
  also.flatMap(({ session_id, revoke_lease }) => (revoke_lease === true ? [session_id] : []))

const fireOf = ({ id, claim }: Timer): RowChange => ({ do: 'timer.fire', id, claim })

/** Time limit of a mission, or of a session with a budget, which is stopped with its subtree. */
async function composeDeadline(deps: Deps, timer: Timer): Fired {
  const { session_id, data } = timer
  if (typeof data['mission_id'] === 'string') return composeMissionDeadline(deps, timer, data['mission_id'])
  const expired = String(data['of'])
  if (expired === session_id) return composeRootDeadline(deps, timer)
  const error = 'The worker was stopped: it reached the time limit of its budget.'
  const end = await composeChildEnd(deps, expired, { as: 'failed', cause: 'deadline', error }, 'deadline')
  if (end === null) return { events: [], rows: [fireOf(timer)] }
  return {
    events: end.parent_events,
    rows: [fireOf(timer), ...end.rows],
    also: end.parts,
    ...end.reopening,
  }
}

/** An idle root without open descendants has nothing to stop. */
async function composeRootDeadline(deps: Deps, timer: Timer): Fired {
  const { tree, expect } = await readTree(deps, timer.session_id)
  const { session, descendants } = tree
  const isAtWork = session.status === 'active' && session.wake_id > session.cursor
  if (!isAtWork && descendants.length === 0) return { events: [], rows: [fireOf(timer)] }
  const { session_id: _, ...stop } = await composeStop(deps, tree, 'deadline')
  return { ...stop, rows: [fireOf(timer), expect, ...(stop.rows ?? [])] }
}

/**
 * Stops the workers of a mission, and wakes its coordinator to end the round. A mission that is paused or
 * over has no active workers; its resume sets a new timer.
 */
async function composeMissionDeadline(deps: Deps, timer: Timer, missionId: string): Fired {
  // Read before the mission: a pause in between changes the tree, and the commit is composed again.
  const { tree, expect } = await readTree(deps, timer.session_id)
  const { status } = await readMission(deps, missionId)
  if (status !== 'active') return { events: [], rows: [fireOf(timer)] }
  const { events, rows, parts } = await endDescendants(deps, tree, 'time limit reached')
  return {
    events: [...events, missionOutOfTime(missionId)],
    rows: [fireOf(timer), expect, ...rows],
    also: parts,
    reopen: sessionResumed('mission'),
  }
}

/**
 * Archives the session of a run that ended long ago, with its subtree: a schedule may last for years, and its
 * runs would grow without limit. A session that a person continued is kept until it has been idle for as
 * long.
 */
async function composeRetire(deps: Deps, timer: Timer): Fired {
  const { session_id, claimed_at, data } = timer
  const keep_s = Number(data['keep_s'])
  const { tree, expect } = await readTree(deps, session_id)
  const { status, updated_at } = tree.session
  if (status === 'archived') return { events: [], rows: [fireOf(timer)] }
  const isOpen = status === 'active' || status === 'paused'
  const left = isOpen ? keep_s * 1000 : updated_at + keep_s * 1000 - claimed_at
  if (left > 0) return { events: [], rows: [fireOf(timer), retireTimer(session_id, keep_s, left)] }
  const { session_id: _, rows = [], ...archive } = await composeArchive(deps, tree)
  return { ...archive, rows: [fireOf(timer), expect, ...rows] }
}

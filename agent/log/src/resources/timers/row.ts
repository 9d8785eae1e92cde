/** Timers: actions that are due at a time. Each runs once, in the commit that fires it. */
import { Refusing } from '../../engine/refusing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

export type TimerKind = 'delegation' | 'stale' | 'deadline' | 'schedule' | 'retire'
/** The right to fire a timer, until `until`. */
export type TimerClaim = { by: string; until: number }
export type Timer = {
  id: string
  kind: TimerKind
  session_id: string
  due_at: number
  data: Record<string, unknown>
  claim: TimerClaim
  /** By the store's clock, which all processes share. */
  claimed_at: number
}

export interface TimerWrites {
  /** Claims due timers for `ttlMs`; another process can claim them after that time without a `timer.fire`. */
  claim(by: string, limit: number, ttlMs: number): Promise<Timer[]>
}

export type TimerChange =
  /** Due this long after the commit; replaces the timer with the same id. */
  | {
      do: 'timer.set'
      id: string
      kind: TimerKind
      session_id: string
      after_ms: number
      data: Record<string, unknown>
    }
  /** Guard and change: rejected with `timer_gone` unless the claim is current. */
  | { do: 'timer.fire'; id: string; claim: TimerClaim }
  /** Does nothing if the timer does not exist. */
  | { do: 'timer.drop'; id: string }

/** A timer as it is stored. */
export type StoredTimer = {
  id: string
  kind: TimerKind
  session_id: string
  due_at: number
  data: string
  claimed_by: string
  claimed_until: number
}
export const toTimer = ({ claimed_by, claimed_until, data, ...row }: StoredTimer, ttlMs: number): Timer => ({
  ...row,
  data: JSON.parse(data) as Record<string, unknown>,
  claim: { by: claimed_by, until: claimed_until },
  claimed_at: claimed_until - ttlMs,
})

export type TimerResource = Resource<TimerChange, object, TimerChange, TimerWrites>

export const timerChanges: TimerResource['changes'] = {
  'timer.set': {},
  'timer.fire': {},
  'timer.drop': {},
}

/** The refusal of a change to a timer, worded alike for all stores. */
export const timerGone = (row: StoredSession, id: string): Refusing =>
  new Refusing('timer_gone', `[commit] timer ${id} does not exist, or another runner claimed it`, row)

/** Rules of commits that need no database: what a commit may do, and its effect on its session's row. */
import type { SessionStatus } from '@cairn/protocol'
import { applyEffect, type Effect } from './projection.ts'
import { hasWork, QUESTION, type StoredSession } from './session-rows.ts'
import { Refusing } from './refusing.ts'
import type { CommitRequest, EncodedPart } from './writer-messages.ts'

/** Cached, because formatting ISO times is slow and most events of a batch share a millisecond. */
let stampedAt = -1
let stamp = ''
export function isoStamp(at: number): string {
  if (at !== stampedAt) {
    stamp = new Date(at).toISOString()
    stampedAt = at
  }
  return stamp
}

/** A part of a commit that concerns one session: the commit's own, or one of `also`. */
export type CommitPart = CommitRequest | EncodedPart

/** Runs for every part of a commit: parts of other sessions carry none of the guards for runners. */
export function guardPart(row: StoredSession, { expect_status }: CommitPart): void {
  if (expect_status !== undefined && !expect_status.includes(row.status)) {
    throw new Refusing(
      'wrong_status',
      `[commit] session ${row.id} is ${row.status}; expected ${expect_status.join(' or ')}`,
      row,
    )
  }
}

export function guard(row: StoredSession, commit: CommitRequest): void {
  const { fence } = commit
  if (fence !== undefined && (row.worker_id !== fence.worker_id || row.epoch !== fence.epoch)) {
    const holder = row.worker_id === null ? 'no worker' : `worker ${row.worker_id}`
    throw new Refusing(
      'stale_lease',
      `[commit] worker ${fence.worker_id} acts with epoch ${fence.epoch}; session ${row.id} is held by ` +
        `${holder} with epoch ${row.epoch}`,
      row,
    )
  }
  guardPart(row, commit)
  if (commit.expect_no_work_after !== undefined && row.wake_id > commit.expect_no_work_after) {
    throw new Refusing(
      'new_work',
      `[commit] event ${row.wake_id} of session ${row.id} asks for work beyond ` +
        `${commit.expect_no_work_after}`,
      row,
    )
  }
  if (commit.expect_no_question === true && row.waiting === QUESTION) {
    throw new Refusing('question_open', `[commit] a question of session ${row.id} is pending`, row)
  }
  const { expect_title: title } = commit
  if (title !== undefined && (row.title !== title || (title !== null && row.provisional === 0))) {
    throw new Refusing('has_title', `[commit] session ${row.id} has a final title`, row)
  }
}

/** Assigns the next id to an event; the caller writes the event. */
export function nextEvent(row: StoredSession, at: number, effect: Effect | null): number {
  const id = (row.last_id += 1)
  if (effect === null) return id
  if (effect.wakes === true && row.wake_id <= row.cursor) row.wake_at = at
  if (effect.delta === true && row.delta_low === 0) row.delta_low = id
  applyEffect(row, id, effect)
  return id
}

const REOPENED: readonly SessionStatus[] = ['completed', 'failed']
export const reopens = (row: StoredSession, { reopen, reopen_from = REOPENED }: CommitPart): boolean =>
  reopen !== undefined && reopen_from.includes(row.status)

/** Applies what the commit says about the row itself, after the last event. */
export function settle(row: StoredSession, commit: CommitPart): void {
  if (commit.set?.status !== undefined) row.status = commit.set.status
  if (commit.set?.title !== undefined) {
    row.title = commit.set.title
    row.provisional = 0
  }
  if (commit.set?.model !== undefined) row.model = commit.set.model
  if (commit.cursor !== undefined)
    row.cursor = commit.cursor === 'self' ? row.last_id : Math.max(row.cursor, commit.cursor)
  if (commit.revoke_lease === true) row.epoch += 1
  if (commit.revoke_lease === true || ('release_lease' in commit && commit.release_lease === true)) {
    row.worker_id = null
    row.lease_until = 0
  }
}

/** True if the session may have become claimable. */
export const bringsWork = (before: StoredSession, row: StoredSession): boolean =>
  hasWork(row) &&
  (row.wake_id !== before.wake_id ||
    row.status !== before.status ||
    row.saga !== before.saga ||
    (row.worker_id === null && before.worker_id !== null))

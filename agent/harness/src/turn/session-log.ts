/**
 * One session's log as its runner sees it: every write goes through the lease, every read through the fold.
 */
import { setImmediate } from 'node:timers/promises'
import {
  CommitRefused,
  type Claim,
  type Commit,
  type Committed,
  type EventWithRows,
  type LogStore,
  type SessionRow,
} from '@cairn/log'
import { EVENT_TYPES, type EventDraft } from '@cairn/protocol'
import { endsChild } from '@cairn/sessions'
import { type Lease, LeaseLost } from './lease.ts'
import { foldRecords, type Position, startPosition } from './position.ts'

export type Append = Pick<
  Commit,
  'rows' | 'cursor' | 'release_lease' | 'expect_no_work_after' | 'set' | 'can_wait' | 'also'
>
export type LogHooks = {
  /** Called with the position after each append. */
  onGrown?: (position: Position) => void
  /** Commits the end of the session together with its effects on other sessions. */
  commitEnd?: (session: SessionRow, commit: Commit) => Promise<Committed>
}
export type SessionLog = {
  /** The session after the claim or the last `append`. */
  session(): SessionRow
  position(): Position
  /**
   * Writes this before the next event, in the same commit: the harness.wake of a turn needs no separate
   * commit.
   */
  startWith(event: EventDraft): void
  /** Folds what others wrote since: steering messages, answers, decisions. */
  catchUp(): Promise<void>
  /**
   * Commits under the lease, then folds. Rejects with LeaseLost once the lease is lost, with CommitRefused
   * for the other guards.
   */
  append(events: readonly EventWithRows[], append?: Append): Promise<Committed>
  /** Like `append` for events that the fold ignores (chunks, heartbeats): commits and reads nothing back. */
  emit(events: readonly EventDraft[], append?: Pick<Append, 'can_wait'>): Promise<void>
}

/** Chunks and heartbeats do not affect the fold, and there are very many of them. */
const FOLDED = EVENT_TYPES.filter(type => type !== 'llm.delta' && type !== 'llm.heartbeat')
const PAGE = 1000

/** `known`: an earlier fold. A log only grows, so the fold continues from there. */
export async function openSessionLog(
  store: LogStore,
  claim: Claim,
  lease: Lease,
  known: Position = startPosition,
  { onGrown, commitEnd }: LogHooks = {},
): Promise<SessionLog> {
  const { id } = claim.session
  /** Its session row is built on first access. */
  let latest: Pick<Committed, 'session'> = claim
  let position = known
  let prefix: readonly EventDraft[] = []

  async function catchUp(): Promise<void> {
    for (;;) {
      const events = await store.events.read(id, position.last_id, PAGE, FOLDED)
      position = foldRecords(position, events)
      if (events.length < PAGE) return
      // A long log is folded in portions, so that leases are renewed and readers served in between.
      await setImmediate()
    }
  }

  async function commit(
    events: readonly EventWithRows[],
    append: Append & Pick<Commit, 'without_session'> = {},
  ): Promise<Committed> {
    lease.signal.throwIfAborted()
    const first = prefix
    prefix = []
    try {
      const whole = { session_id: id, fence: lease.fence, ...append, events: [...first, ...events] }
      return await (commitEnd !== undefined && endsChild(events)
        ? commitEnd(latest.session, whole)
        : store.commit(whole))
    } catch (error) {
      // If a guard refused the commit, nothing was written. Otherwise the outcome is unknown: repeating the
      // wake is harmless, but any other first event must only be written again if the fold shows that it is
      // missing. A saga, for example, must not start twice.
      prefix = [
        ...(error instanceof CommitRefused ? first : first.filter(event => event.type === 'harness.wake')),
        ...prefix,
      ]
      if (
        error instanceof CommitRefused &&
        (error.refusal === 'stale_lease' || error.refusal === 'no_session')
      ) {
        lease.end(new LeaseLost(error.message, { cause: error }))
        lease.signal.throwIfAborted()
      }
      throw error
    }
  }

  await catchUp()
  return {
    session: () => latest.session,
    position: () => position,
    startWith(event) {
      prefix = [...prefix, event]
    },
    catchUp,
    async append(events, append) {
      const committed = await commit(events, append)
      latest = committed
      await catchUp()
      onGrown?.(position)
      return committed
    },
    async emit(events, append) {
      await commit(events, { ...append, without_session: true })
    },
  }
}

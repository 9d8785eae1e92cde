/**
 * Where the fold of a session's log starts at a wake-up: at this runner's recent fold, else at the stored
 * snapshot, else at the start of the log. A fold that has advanced far enough is stored as a snapshot in the
 * background, and only by a runner that is neither draining nor fenced off. A snapshot is made of what was
 * read from the log, so it is never ahead of it; a missing or stale one only costs extra log reads.
 */
import type { SessionRow, Snapshot } from '@cairn/log'
import { asError, type EventId } from '@cairn/protocol'
import { FOLD_VERSION, readSnapshot, writeSnapshot } from '@cairn/state'
import type { Lease } from '../turn/lease.ts'
import type { Logger } from '@cairn/models/logger'
import { type Position, startPosition } from '../turn/position.ts'
import type { RunnerDeps } from '../runner-deps.ts'

type Fold = {
  position: Position
  /** End of the last snapshot, stored or attempted. */
  saved: EventId
  /** Distance to the next snapshot, in event ids. */
  every: number
}
export type SnapshotCache = {
  begin(session: SessionRow, report: Logger): Promise<Fold>
  /** The fold has advanced to this position. */
  moved(fold: Fold, position: Position, lease: Lease, report: Logger): void
  keep(sessionId: string, fold: Fold): void
}

/** Reading this number of events takes some milliseconds. */
const SNAPSHOT_EVERY = 1000
/**
 * Longer snapshots are written less often: an event has some hundred characters, so snapshots write less than
 * the log does.
 */
const CHARS_AN_EVENT = 500
/** Longer ones (mostly images) wait for the next compaction. */
const MAX_SNAPSHOT_CHARS = 8 * 1024 * 1024

export function createSnapshotCache(
  runner: Pick<RunnerDeps, 'store' | 'shutdown' | 'keepInBackground' | 'clock'>,
  maxEntries: number,
  every: number = SNAPSHOT_EVERY,
): SnapshotCache {
  const { store, shutdown } = runner
  const cached = new Map<string, Fold>()
  const dueAfter = (chars: number): number => Math.max(every, Math.ceil(chars / CHARS_AN_EVENT))

  async function load({ id, last_event_id }: SessionRow, report: Logger): Promise<Fold> {
    const start: Fold = { position: startPosition, saved: 0, every }
    const found: Snapshot | null = last_event_id < every ? null : await store.snapshots.read(id, FOLD_VERSION)
    if (found === null) return start
    const position = readSnapshot<Position>(found)
    if (position !== null) return { position, saved: position.last_id, every: dueAfter(found.body.length) }
    report('warn', 'the snapshot of the session cannot be read; its log is read instead')
    return start
  }

  async function save(fold: Fold, position: Position, lease: Lease): Promise<void> {
    // Let the step that was just written continue first.
    await new Promise<void>(resolve => runner.clock.after(0, resolve))
    if (lease.signal.aborted || shutdown.aborted) return
    const body = writeSnapshot<Position>(position)
    fold.every = dueAfter(body.length)
    if (body.length > MAX_SNAPSHOT_CHARS) return
    await store.snapshots.save(lease.session_id, { version: FOLD_VERSION, last_id: position.last_id, body })
  }

  return {
    begin: async (session, report) => cached.get(session.id) ?? (await load(session, report)),
    moved(fold, position, lease, report) {
      if (position.last_id - fold.saved < fold.every || lease.signal.aborted || shutdown.aborted) return
      fold.saved = position.last_id
      runner.keepInBackground(
        save(fold, position, lease).catch((error: unknown) =>
          report('warn', 'failed to save a snapshot of the session', { error: asError(error).message }),
        ),
      )
    },
    keep(sessionId, fold) {
      cached.delete(sessionId)
      cached.set(sessionId, fold)
      const [oldest] = cached.keys()
      if (cached.size > maxEntries && oldest !== undefined) cached.delete(oldest)
    },
  }
}

/**
 * Indexes logs: one range of one log at a time, in one transaction with its new cursor. The same on both
 * stores.
 */
import type { EventId } from '@cairn/protocol'
import type { SessionRow } from '../../session.ts'
import type { EventStore } from '../../store.ts'
import { type Entries, entriesOf, INDEXED_TYPES, sessionText } from './entries.ts'
import { emptyShape, type ShapeState } from './shape.ts'
import { wordSet } from './words.ts'

/** A session whose log is indexed up to `after`; null: not at all. */
export type Behind = { id: string; after: EventId | null }
export type Stretch = Entries & { session_id: string; after: EventId | null; through: EventId }

/** Events per range; a search waits for at most one range. */
const STRETCH = 64

export type IndexTarget = {
  /** All or nothing. False if another process has indexed since the read and `after` is outdated. */
  add(stretch: Stretch): boolean | Promise<boolean>
  /** The shapes of these sessions; those without one are missing. */
  shapes(ids: readonly string[]): Map<string, ShapeState> | Promise<Map<string, ShapeState>>
}
/** The required reads of logs and sessions. */
export type Logs = Pick<EventStore, 'read'> & {
  getSession(id: string): Promise<Pick<SessionRow, 'id' | 'last_event_id' | 'agent' | 'title'> | null>
}

/** Indexes a log up to its end at the time of the call. */
async function indexLog(logs: Logs, target: IndexTarget, { id, after }: Behind): Promise<void> {
  const session = await logs.getSession(id)
  if (session === null) return
  const end = session.last_event_id
  let shape = (await target.shapes([id])).get(id) ?? emptyShape
  for (let from = after; from === null || from < end;) {
    const events = await logs.read(id, from ?? 0, STRETCH, INDEXED_TYPES)
    // Events of other types lie between and after those that were read.
    const through = events.length < STRETCH ? end : (events.at(-1)?.id ?? end)
    const found = entriesOf(
      events.filter(event => event.id <= through),
      shape,
    )
    const { texts, usage } = found
    shape = found.shape
    if (from === null) texts.unshift({ event_id: 0, words: [...wordSet([sessionText(session)])] })
    if (!(await target.add({ session_id: id, after: from, through, texts, usage, shape }))) return
    from = through
  }
}

/** Indexes what is new in these logs and moves the cursor of each to its end. */
export async function indexLogs(logs: Logs, target: IndexTarget, behind: readonly Behind[]): Promise<void> {
  for (const each of behind) await indexLog(logs, target, each)
}

/** How many of these have unindexed text: a log may have grown by chunks alone. */
export async function countBehind(logs: Logs, behind: readonly Behind[]): Promise<number> {
  let count = 0
  for (const { id, after } of behind)
    if (after === null || (await logs.read(id, after, 1, INDEXED_TYPES)).length > 0) count += 1
  return count
}

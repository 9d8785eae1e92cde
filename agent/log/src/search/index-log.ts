/**
 * How one log comes into the index: a stretch of it at a time, each in one transaction with the cursor it
 * reaches. The same on both stores.
 */
import type { EventId } from '@cairn/protocol'
import type { LogStore } from '../store.ts'
import { type Entries, entriesOf, INDEXED_TYPES, sessionText } from './entries.ts'
import { wordSet } from './words.ts'

/** A session that is behind: its log is indexed up to `after`; null: not at all. */
export type Behind = { id: string; after: EventId | null }
export type Stretch = Entries & { session_id: string; after: EventId | null; through: EventId }

/** Events of one transaction: no search waits behind more. */
const STRETCH = 64

export type IndexTarget = {
  /** All or nothing. False where another process was faster: somebody else's `after` is newer by now. */
  add(stretch: Stretch): boolean | Promise<boolean>
}
type Logs = Pick<LogStore, 'read' | 'getSession'>

/** Indexes a log to its end as it was when this began. */
export async function indexLog(logs: Logs, target: IndexTarget, { id, after }: Behind): Promise<void> {
  const session = await logs.getSession(id)
  if (session === null) return
  const end = session.last_event_id
  for (let from = after; from === null || from < end;) {
    const events = await logs.read(id, from ?? 0, STRETCH, INDEXED_TYPES)
    // Events of other types stand between and behind those that were read.
    const through = events.length < STRETCH ? end : (events.at(-1)?.id ?? end)
    const { texts, usage } = entriesOf(events.filter(event => event.id <= through))
    if (from === null) texts.unshift({ event_id: 0, words: [...wordSet([sessionText(session)])] })
    if (!(await target.add({ session_id: id, after: from, through, texts, usage }))) return
    from = through
  }
}

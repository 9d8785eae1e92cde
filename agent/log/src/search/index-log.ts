/**
 * How logs come into the index: a stretch of one at a time, each in one transaction with the cursor it
 * reaches. The same on both stores.
 */
import type { EventId } from '@cairn/protocol'
import type { SessionRow } from '../session.ts'
import type { LogStore } from '../store.ts'
import { type Entries, entriesOf, INDEXED_TYPES, sessionText } from './entries.ts'
import { wordSet } from './words.ts'

/** A session whose log goes to `newest` and is indexed up to `after`; null: not at all. */
export type Behind = { id: string; after: EventId | null; newest: EventId }
export type Stretch = Entries & { session_id: string; after: EventId | null; through: EventId }

/** Events of one transaction: no search waits behind more. */
const STRETCH = 64

export type IndexTarget = {
  /** All or nothing. False where another process was faster: somebody else's `after` is newer by now. */
  add(stretch: Stretch): boolean | Promise<boolean>
}
/** What is read of logs, and of a session no more than this. */
export type Logs = Pick<LogStore, 'read'> & {
  getSession(id: string): Promise<Pick<SessionRow, 'id' | 'last_event_id' | 'agent' | 'title'> | null>
}

/** Indexes a log to its end as it was when this began. */
async function indexLog(logs: Logs, target: IndexTarget, { id, after }: Behind): Promise<void> {
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

export type Indexer = {
  /** Brings in what is new of these, of which somebody knows that they have grown. */
  follow(behind: readonly Behind[]): Promise<void>
  /** Brings in all of these and moves the cursor of each to its end. */
  compare(behind: readonly Behind[]): Promise<void>
  /** How many of these have what is indexed and is not yet. */
  count(behind: readonly Behind[]): Promise<number>
}

/**
 * While an answer is written its log grows for seconds by chunks, of which nothing is indexed. Following it
 * then costs a look at what is new and no transaction; the cursor stays until all logs are compared.
 */
export function createIndexer(logs: Logs, target: IndexTarget): Indexer {
  /** Up to where a log was looked at and nothing was found. */
  const looked = new Map<string, EventId>()
  async function hasNews({ id, after, newest }: Behind): Promise<boolean> {
    if (after === null) return true
    const from = Math.max(after, looked.get(id) ?? 0)
    if ((await logs.read(id, from, 1, INDEXED_TYPES)).length > 0) return true
    looked.set(id, newest)
    return false
  }

  return {
    async follow(behind) {
      for (const each of behind) {
        if (!(await hasNews(each))) continue
        looked.delete(each.id)
        await indexLog(logs, target, each)
      }
    },
    async compare(behind) {
      looked.clear()
      for (const each of behind) await indexLog(logs, target, each)
    },
    async count(behind) {
      let count = 0
      for (const each of behind) if (await hasNews(each)) count += 1
      return count
    },
  }
}

/** Reads a log from a cursor on: history, then live. */
import type { LogStore } from '@cairn/log'
import { decodeEvent, type EventId, type EventType, type SessionEvent } from '@cairn/protocol'

export type Events = Pick<LogStore, 'events'>

/** Events per read of the store, and of the first read: most exchanges are short. */
const PAGE = 500
const FIRST_PAGE = 100

/** A page of the log; `atEnd`: nothing more was in the log when it was read. */
type LogPage = { events: readonly SessionEvent[]; atEnd: boolean }

/**
 * The pages after `cursor`, until `signal` aborts. It watches before it reads, so an event committed in
 * between is not missed.
 */
export async function* tailLog(
  { events }: Events,
  sessionId: string,
  cursor: EventId,
  signal: AbortSignal,
): AsyncGenerator<LogPage> {
  let after = cursor
  let limit = FIRST_PAGE
  let hasGrown = true
  let wake = (): void => undefined
  const notify = (): void => {
    hasGrown = true
    wake()
  }
  const unwatch = events.watch(sessionId, notify)
  signal.addEventListener('abort', notify)
  try {
    while (!signal.aborted) {
      if (!hasGrown) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        continue
      }
      hasGrown = false
      const page = await events.read(sessionId, after, limit)
      limit = PAGE
      if (signal.aborted) return
      after = page.at(-1)?.id ?? after
      // A short page may lag the newest commit; only an empty one is the end.
      if (page.length > 0) hasGrown = true
      yield { events: page.map(({ json }) => decodeEvent(json)), atEnd: page.length === 0 }
    }
  } finally {
    signal.removeEventListener('abort', notify)
    unwatch()
  }
}

/** The stored events after `cursor`, up to `last`; with `types` only those. */
export async function* readLog(
  { events }: Events,
  sessionId: string,
  { after: cursor, last = Infinity }: { after: EventId; last?: EventId },
  types?: readonly EventType[],
): AsyncGenerator<SessionEvent> {
  for (let after: EventId | undefined = cursor; after !== undefined;) {
    const page = await events.read(sessionId, after, PAGE, types)
    for (const { id, json } of page) {
      if (id > last) return
      yield decodeEvent(json)
    }
    after = page.at(-1)?.id
  }
}

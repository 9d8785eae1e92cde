/**
 * Follows a session's log from a cursor (contract 3): history in pages, then live, without gaps or
 * repetition.
 */
import type { EventId } from '@cairn/protocol'
import type { LogStore, StoredEvent } from './store.ts'

/**
 * Yields non-empty pages in order until `signal` aborts, then returns. It watches before it reads: an event
 * that is committed between a read and the wait has already set `grown`. A slow reader costs a cursor and
 * nothing else.
 */
export async function* tail(
  { events }: Pick<LogStore, 'events'>,
  sessionId: string,
  after: EventId,
  signal: AbortSignal,
  options: { pageSize?: number } = {},
): AsyncIterable<StoredEvent[]> {
  const pageSize = options.pageSize ?? 256
  let cursor = after
  let grown = true
  let wake: (() => void) | null = null
  const stop = events.watch(sessionId, () => {
    grown = true
    wake?.()
  })
  const aborted = () => wake?.()
  signal.addEventListener('abort', aborted)
  try {
    while (!signal.aborted) {
      if (!grown) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        continue
      }
      grown = false
      const page = await events.read(sessionId, cursor, pageSize)
      const last = page.at(-1)
      if (last === undefined) continue
      cursor = last.id
      if (page.length === pageSize) grown = true
      if (!signal.aborted) yield page
    }
  } finally {
    signal.removeEventListener('abort', aborted)
    stop()
  }
}

/** Reading a log: the live stream and the poll (contract 3). */
import type { StoredEvent } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import { type Handler, jsonText } from '../handler.ts'

/**
 * Rejects a cursor among lost events: a client that saw them must not wait for later ones as if nothing had
 * happened.
 */
export async function checkCursor({ store }: Services, sessionId: string, cursor: EventId): Promise<void> {
  const lost = cursor > 0 ? await store.events.lostAt(sessionId, cursor) : null
  if (lost === null) return
  throw new AppError(
    'cursor_lost',
    `Event ${cursor} of this session is lost because the server's disk was damaged: the log ` +
      `after event ${lost.after_id} is gone. Discard later events, and continue with ` +
      `after=${lost.after_id}.`,
    { extra: { last_id: lost.after_id } },
  )
}

const CURSOR = /^\d{1,15}$/

/**
 * `after` wins over the header that a browser's EventSource sends when it reconnects; without either, the
 * stream starts at the beginning.
 */
export const streamEvents: Handler<'streamEvents'> = async ({
  services,
  principal,
  identity,
  params,
  query,
  exchange,
}) => {
  const header = exchange.req.headers['last-event-id']
  const given = typeof header === 'string' && header !== '' ? header : '0'
  if (query.after === undefined && !CURSOR.test(given))
    throw new AppError('invalid_cursor', 'Invalid Last-Event-ID header: must be a non-negative integer.')
  await services.guard.check(principal, params.id)
  const cursor = query.after ?? Number(given)
  await checkCursor(services, params.id, cursor)
  services.streams.openSession(exchange, identity, params.id, cursor)
  return undefined as never
}

/** A page ends early at this size, so that a thousand large events need not be in memory at once. */
const PAGE_CHARS = 8 * 1024 * 1024
const READ_AT_ONCE = 250

/** The page is assembled from the stored records unchanged. `last_id` is the cursor of the next page. */
export const pollEvents: Handler<'pollEvents'> = async ({ services, principal, params, query }) => {
  await services.guard.check(principal, params.id)
  const limit = Math.min(Math.max(query.limit ?? 100, 1), 1000)
  let cursor: EventId = query.after ?? 0
  await checkCursor(services, params.id, cursor)
  let count = 0
  let text = ''
  let hasMore = false
  for (;;) {
    // One more than fits shows whether there are more.
    const asked = Math.min(limit - count + 1, READ_AT_ONCE)
    const events: StoredEvent[] = await services.store.events.read(params.id, cursor, asked)
    for (const event of events) {
      if (count === limit || (count > 0 && text.length + event.json.length > PAGE_CHARS)) {
        hasMore = true
        break
      }
      text += count === 0 ? event.json : `,${event.json}`
      count++
      cursor = event.id
    }
    if (hasMore || events.length < asked) break
  }
  return jsonText(`{"events":[${text}],"has_more":${hasMore},"last_id":${cursor}}`)
}

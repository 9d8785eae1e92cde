/** Full-text search in sessions, and the stream of changed sessions. */
import { visibleTo } from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { streamSessionChanges } from '../sse/session-stream.ts'
import { pageLimit } from './page-limit.ts'
import { filtersOf } from './session-filters.ts'
import { shownSessions } from './session-view.ts'

/** Maximum page size: each session of a page is read to locate the match. */
const MAX_RESULTS = 50

export const search: Handler<'search'> = async ({ services, principal, query }) => {
  const { found, next_cursor } = await services.store.search.find({
    ...visibleTo(principal),
    ...filtersOf(query),
    words: query.q,
    limit: Math.min(MAX_RESULTS, pageLimit(query.limit ?? 20)),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  })
  const sessions = await shownSessions(
    services,
    found.map(({ session }) => session),
  )
  return {
    results: sessions.map((session, at) => ({ session, hits: found[at]?.hits ?? [] })),
    next_cursor,
  }
}

export const streamSessions: Handler<'streamSessions'> = async ({ services, identity, exchange }) => {
  streamSessionChanges(services, exchange, identity)
  return undefined as never
}

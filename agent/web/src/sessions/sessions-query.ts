/** The sessions of the table, by the filters in its address. */
import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'
import { SESSIONS_EVERY_MS } from '../queries.ts'
import { type Filters, queryOf } from '../session-filters.ts'

const SESSIONS_PAGE = 60

export const sessionsQuery = (filters: Omit<Filters, 'q'>) => {
  const { q: _words, ...narrow } = filters as Filters
  return infiniteQueryOptions({
    queryKey: ['sessions', narrow],
    queryFn: ({ pageParam, signal }) =>
      client.call('listSessions', {
        query: {
          ...queryOf(narrow, Date.now()),
          limit: SESSIONS_PAGE,
          shape: 'true',
          pins: 'first',
          // Workers are listed on the page of their root session.
          parent_id: 'none',
          cursor: pageParam ?? undefined,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor,
    refetchInterval: SESSIONS_EVERY_MS,
  })
}

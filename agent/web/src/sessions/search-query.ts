/** The query of a search. */
import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'
import { type Filters, queryOf } from '../session-filters.ts'

/** Sessions that contain the words. */
export const searchQuery = (filters: Filters, q: string) => {
  const { q: _words, ...narrow } = filters
  return infiniteQueryOptions({
    queryKey: ['search', narrow, q],
    queryFn: ({ pageParam, signal }) =>
      client.call('search', {
        query: { ...queryOf(narrow, Date.now()), q, limit: 20, cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor,
    // Results stay while the words change; a change of other filters discards them.
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey[1]) === JSON.stringify(narrow) ? before : undefined,
  })
}

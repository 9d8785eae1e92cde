/** What a search asks for. */
import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'
import { type Filters, queryOf } from '../session-filters.ts'

/** Sessions in which the words stand. */
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
    // While words are typed the results stay; other filters are another list.
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey[1]) === JSON.stringify(narrow) ? before : undefined,
  })
}

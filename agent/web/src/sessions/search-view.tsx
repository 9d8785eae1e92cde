/** The sessions that match the search text; loaded on the first search. */
import { useInfiniteQuery, infiniteQueryOptions } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { countFilters, type Filters, queryOf } from '../session-filters.ts'
import { useNow } from '../ui/use-now.ts'
import { Failure, More } from './list-parts.tsx'
import { SearchResults } from './search-results.tsx'
import { generalWords } from '../words/general.ts'
import { sessionsWords } from '../words/sessions.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { client } from '../api.ts'

type SearchProps = { filters: Filters; wanted: string; isTyping: boolean }

export function Search({ filters, wanted, isTyping }: SearchProps) {
  const { data, error, isPending, isPlaceholderData, ...more } = useInfiniteQuery(
    searchQuery(filters, wanted),
  )
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = more
  const now = useNow(20_000)
  const open = useParams({ strict: false }).sessionId
  const results = (data?.pages ?? []).flatMap(page => page.results)
  // A page of results may be short or empty even if more pages follow.
  const isSearchingOn = hasNextPage && results.length < ENOUGH
  useEffect(() => {
    if (isSearchingOn && !isFetchingNextPage && !isPlaceholderData && !error) void fetchNextPage()
  }, [isSearchingOn, isFetchingNextPage, isPlaceholderData, error, fetchNextPage])
  const isLooking = isTyping || isPending || isPlaceholderData || isSearchingOn
  return (
    <>
      <Failure error={error} />
      <SearchResults results={results} open={open} now={now} />
      {!error && (
        <p className="sessions-note faint" role="status" data-testid="sessions-note">
          {isLooking ? generalWords.searching : noteOf(wanted, filters, results.length)}
        </p>
      )}
      {!isSearchingOn && <More {...more} words={sessionsWords.olderSessions} />}
    </>
  )
}
/** Enough results to fill the column. */
const ENOUGH = 10

/** What was searched, or that nothing was found. Shown only after the search has ended. */
function noteOf(wanted: string, filters: Filters, found: number): string {
  return found > 0
    ? sessionMenuWords.searched
    : sessionMenuWords.nothingFound(wanted, filters.archived === true, countFilters(filters) > 0)
}

/** Sessions that contain the words. */
const searchQuery = (filters: Filters, q: string) => {
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

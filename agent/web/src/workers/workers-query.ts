/** The workers of a session, polled while the page is visible. */
import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

const EVERY_MS = 3000
const PAGE = 200

export const workersQuery = (sessionId: string) =>
  infiniteQueryOptions({
    queryKey: ['workers', sessionId],
    queryFn: ({ pageParam, signal }) =>
      client.call('sessionWorkers', {
        params: { id: sessionId },
        query: { limit: PAGE, cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor,
    // A hidden page does not poll.
    refetchInterval: EVERY_MS,
    select: data => data.pages.flatMap(page => page.workers),
  })

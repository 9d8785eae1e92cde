/** The pinned sessions and saved views of the person, which the server keeps. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

export const sessionMarksQuery = queryOptions({
  queryKey: ['session-marks'],
  queryFn: ({ signal }) => client.call('sessionMarks', { signal }),
  staleTime: 30_000,
})

/** The lists have the pinned sessions first. */
export const refreshLists = (queries: QueryClient) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: sessionMarksQuery.queryKey }),
    queries.invalidateQueries({ queryKey: ['sessions'] }),
    queries.invalidateQueries({ queryKey: ['recent'] }),
  ])

/** Pins the sessions, or unpins them. The last one is listed first. */
export async function setPinned(
  queries: QueryClient,
  ids: readonly string[],
  isPinned: boolean,
): Promise<void> {
  try {
    for (const id of ids) await client.call(isPinned ? 'pinSession' : 'unpinSession', { params: { id } })
  } finally {
    await refreshLists(queries)
  }
}

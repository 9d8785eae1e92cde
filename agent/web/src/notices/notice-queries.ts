/** How the person is told what waits: what is chosen, and what they may change. */
import { type QueryClient, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { client } from '../api.ts'

const KEY = ['notices']

export const noticesQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => client.call('getNotices', { signal }),
  // Notices go out elsewhere while this is open.
  refetchInterval: 3_000,
})

const afterwards = (queries: QueryClient) => () => queries.invalidateQueries({ queryKey: KEY })

/** A change of the settings whose failure the page shows in place. */
export function useNoticeChange<T, R>(mutationFn: (body: T) => Promise<R>) {
  const queries = useQueryClient()
  return useMutation({ mutationFn, meta: { showsError: true }, onSettled: afterwards(queries) })
}

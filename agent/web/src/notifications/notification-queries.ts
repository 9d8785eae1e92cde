/** The queries and changes of the notification settings. */
import { type QueryClient, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { client } from '../api.ts'

const KEY = ['notices']

export const notificationsQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => client.call('getNotices', { signal }),
  // Deliveries continue while the page is open.
  refetchInterval: 3_000,
})

const afterwards = (queries: QueryClient) => () => queries.invalidateQueries({ queryKey: KEY })

/** A change of the settings; the page shows its error in place. */
export function useNotificationChange<T, R>(mutationFn: (body: T) => Promise<R>) {
  const queries = useQueryClient()
  return useMutation({ mutationFn, meta: { showsError: true }, onSettled: afterwards(queries) })
}

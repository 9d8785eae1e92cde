/** What the pages for administrators ask for. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

export const usersQuery = queryOptions({
  queryKey: ['admin', 'users'],
  queryFn: async ({ signal }) => (await client.call('listUsers', { signal })).users,
})
export const accountsQuery = queryOptions({
  queryKey: ['admin', 'accounts'],
  queryFn: async ({ signal }) => (await client.call('listServiceAccounts', { signal })).service_accounts,
  // Last uses are worth seeing as they happen.
  refetchInterval: 20_000,
})

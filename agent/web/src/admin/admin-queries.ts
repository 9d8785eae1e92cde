/** The queries of the administration pages. */
import { queryOptions } from '@tanstack/react-query'
import type { UsageGroup } from '@cairn/protocol'
import { client } from '../api.ts'

export const usersQuery = queryOptions({
  queryKey: ['admin', 'users'],
  queryFn: async ({ signal }) => (await client.call('listUsers', { signal })).users,
})
export const accountsQuery = queryOptions({
  queryKey: ['admin', 'accounts'],
  queryFn: async ({ signal }) => (await client.call('listServiceAccounts', { signal })).service_accounts,
  // Polled so that the time of the last use stays current.
  refetchInterval: 20_000,
})

export const usageQuery = (by: UsageGroup, days: number) =>
  queryOptions({
    queryKey: ['admin', 'usage', by, days],
    queryFn: async ({ signal }) => (await client.call('usage', { query: { by, days }, signal })).rows,
    refetchInterval: 30_000,
  })
export const healthQuery = queryOptions({
  queryKey: ['admin', 'health'],
  queryFn: ({ signal }) => client.call('health', { signal }),
  refetchInterval: 10_000,
})

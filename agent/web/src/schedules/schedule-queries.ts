/** The queries of the schedules page; polled while the page is open. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

export const schedulesQuery = infiniteQueryOptions({
  queryKey: ['schedules'],
  queryFn: ({ pageParam, signal }) =>
    client.call('listSchedules', { query: { limit: 50, cursor: pageParam ?? undefined }, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: page => page.next_cursor,
  select: data => data.pages.flatMap(page => page.schedules),
  refetchInterval: 4000,
})

export const scheduleRunsQuery = (id: string) =>
  queryOptions({
    queryKey: ['schedules', id, 'runs'],
    queryFn: ({ signal }) =>
      client.call('listScheduleRuns', { params: { schedule_id: id }, query: { limit: 20 }, signal }),
    refetchInterval: 4000,
  })

export type Timing = { cron: string; timezone: string } | { every_s: number }

/** Cached, because a person who types may return to an expression. */
export const previewQuery = (timing: Timing) =>
  queryOptions({
    queryKey: ['schedule-preview', timing],
    queryFn: ({ signal }) => client.call('previewSchedule', { body: { ...timing, count: 5 }, signal }),
    retry: false,
    staleTime: 30_000,
  })

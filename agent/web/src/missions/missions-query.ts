/** The queries of missions, their tasks, research and workers; polled while a mission is running. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { isMissionOver } from '@cairn/protocol'
import { client } from '../api.ts'

const EVERY_MS = 3000

export const missionsQuery = infiniteQueryOptions({
  queryKey: ['missions'],
  queryFn: ({ pageParam, signal }) =>
    client.call('listMissions', { query: { limit: 50, cursor: pageParam ?? undefined }, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: page => page.next_cursor,
  select: ({ pages }) => pages.flatMap(page => page.missions),
  refetchInterval: EVERY_MS,
})

export const missionQuery = (mission_id: string) =>
  queryOptions({
    queryKey: ['mission', mission_id],
    queryFn: ({ signal }) => client.call('getMission', { params: { mission_id }, signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && isMissionOver(state.data.status) ? false : EVERY_MS,
  })

/**
 * `isLive`: the mission is running. Because it is part of the key, the end of the mission triggers one last
 * query.
 */
export const missionTasksQuery = (mission_id: string, isLive: boolean) =>
  queryOptions({
    queryKey: ['mission-tasks', mission_id, isLive],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (await client.call('missionTasks', { params: { mission_id }, signal })).tasks,
    refetchInterval: isLive ? EVERY_MS : false,
  })

export const researchQuery = (mission_id: string, isLive: boolean) =>
  queryOptions({
    queryKey: ['mission-research', mission_id, isLive],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => client.call('missionResearch', { params: { mission_id }, signal }),
    refetchInterval: isLive ? EVERY_MS : false,
  })

export const missionWorkersQuery = (mission_id: string, isLive: boolean) =>
  queryOptions({
    queryKey: ['mission-workers', mission_id, isLive],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (await client.call('missionWorkers', { params: { mission_id }, query: { limit: 100 }, signal }))
        .workers,
    refetchInterval: isLive ? EVERY_MS : false,
  })

/** The queries of missions, their tasks, research and workers; polled while a mission is running. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { type EventData, isMissionOver } from '@cairn/protocol'
import { client } from '../api.ts'

const EVERY_MS = 3000

const OPEN = 'active,paused,blocked'
const ENDED = 'satisfied,failed,max_iterations_reached,cancelled'
export const MISSION_FILTERS = ['all', 'open', 'ended'] as const
export type MissionFilter = (typeof MISSION_FILTERS)[number]
const STATUSES: Record<MissionFilter, string | undefined> = { all: undefined, open: OPEN, ended: ENDED }

export const missionsQuery = (filter: MissionFilter) =>
  infiniteQueryOptions({
    queryKey: ['missions', 'list', filter],
    queryFn: ({ pageParam, signal }) =>
      client.call('listMissions', {
        query: { limit: 50, cursor: pageParam ?? undefined, status: STATUSES[filter] },
        signal,
      }),
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

/** The text of the graded answer; null if the mission was graded without one. */
export const gradedAnswerQuery = (session_id: string, event: number | undefined) =>
  queryOptions({
    queryKey: ['mission-answer', session_id, event],
    enabled: event !== undefined,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { events } = await client.call('pollEvents', {
        params: { id: session_id },
        query: { after: String((event ?? 1) - 1), limit: 1 },
        signal,
      })
      const [found] = events
      if (found?.id !== event || found?.type !== 'llm.response') return null
      const { content } = (found.data as EventData<'llm.response'>).message
      return typeof content === 'string' ? content : null
    },
  })

/** `rounds` is part of the key: each round may leave more artifacts. */
export const missionArtifactsQuery = (session_id: string, rounds: number) =>
  queryOptions({
    queryKey: ['mission-artifacts', session_id, rounds],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (await client.call('listArtifacts', { params: { id: session_id }, signal })).artifacts,
  })

/**
 * The queries of the UI and their keys. Streams only invalidate them; the data is always the server's reply.
 */
import { type InfiniteData, type QueryClient, queryOptions } from '@tanstack/react-query'
import type { ArtifactSpec, InboxItem, Session } from '@cairn/protocol'
import { client } from './api.ts'

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => client.call('me', { signal }),
  staleTime: Infinity,
})
export const aboutQuery = queryOptions({
  queryKey: ['about'],
  queryFn: ({ signal }) => client.call('about', { signal }),
  staleTime: 300_000,
})

/** A fallback for an interrupted stream, which is faster. */
export const SESSIONS_EVERY_MS = 30_000

const RECENT = 8
/** The pinned sessions and those that changed last, for the navigation. */
export const recentSessionsQuery = queryOptions({
  queryKey: ['recent'],
  queryFn: async ({ signal }) =>
    (
      await client.call('listSessions', {
        query: { limit: RECENT, sort: 'updated', parent_id: 'none', pins: 'first' },
        signal,
      })
    ).sessions.slice(0, RECENT),
  refetchInterval: SESSIONS_EVERY_MS,
})

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: ({ signal }) => client.call('getSession', { params: { id }, signal }),
    // A turn with nothing to do ends without an event.
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? 4000 : 15_000),
  })

/** The title of a session, where nothing else of it is shown. */
export const sessionTitleQuery = (id: string) =>
  queryOptions({
    queryKey: ['session-title', id],
    queryFn: async ({ signal }) => (await client.call('getSession', { params: { id }, signal })).title,
    staleTime: 60_000,
  })

export type Listed = InfiniteData<{ sessions: Session[]; next_cursor: string | null }>
const pick = ({ shape, last_step, pinned }: Session): Pick<Session, 'shape' | 'last_step' | 'pinned'> => ({
  ...(pinned && { pinned }),
  ...(shape !== undefined && { shape }),
  ...(last_step !== undefined && { last_step }),
})

/** Stores a session that was just read, in all queries that do not have a newer version of it. */
export function noteSession(queries: QueryClient, session: Session): void {
  const newer = (known: Session): Session =>
    known.id === session.id && known.last_event_id <= session.last_event_id
      ? // A changed session comes without its shape and pin, which the lists read again.
        { ...pick(known), ...session }
      : known
  queries.setQueryData<Session>(['session', session.id], known => known && newer(known))
  queries.setQueryData(recentSessionsQuery.queryKey, known => known?.map(newer))
  queries.setQueriesData<Listed>(
    { queryKey: ['sessions'] },
    data =>
      data && {
        ...data,
        pages: data.pages.map(page => ({ ...page, sessions: page.sessions.map(newer) })),
      },
  )
}

/** The number of missions under way. */
export const activeMissionsQuery = queryOptions({
  queryKey: ['missions', 'active'],
  queryFn: async ({ signal }) =>
    (await client.call('listMissions', { query: { limit: 50, status: 'active' }, signal })).missions.length,
  refetchInterval: 30_000,
})

export type InboxScope = 'pending' | 'decided' | 'all'
const SCOPE_STATUS = { pending: 'pending', decided: 'responded,acknowledged,expired', all: undefined }
export const inboxQuery = (scope: InboxScope, sessionId?: string) =>
  queryOptions({
    queryKey: ['inbox', scope, sessionId ?? null],
    queryFn: ({ signal }) =>
      client.call('listInbox', {
        query: { limit: 100, status: SCOPE_STATUS[scope], session_id: sessionId },
        signal,
      }),
    select: (page: { items: InboxItem[] }) => page.items,
    // A fallback for an interrupted stream, which is faster.
    refetchInterval: 20_000,
  })

export type ArtifactBody = ArtifactSpec
export const artifactQuery = (sessionId: string, artifactId: string, version: number) =>
  queryOptions({
    queryKey: ['artifact', sessionId, artifactId, version],
    queryFn: ({ signal }) =>
      client.call('getArtifact', { params: { id: sessionId, artifact_id: artifactId }, signal }),
    staleTime: Infinity,
  })

export const fileQuery = (sessionId: string, path: string) =>
  queryOptions({
    queryKey: ['file', sessionId, path],
    queryFn: ({ signal }) =>
      client.call('workspaceFile', { params: { id: sessionId }, query: { path }, signal }),
    staleTime: 60_000,
  })

/** A file before a change; it never changes. */
export const checkpointQuery = (sessionId: string, hash: string) =>
  queryOptions({
    queryKey: ['checkpoint', sessionId, hash],
    queryFn: ({ signal }) => client.call('workspaceCheckpoint', { params: { id: sessionId, hash }, signal }),
    staleTime: Infinity,
  })

/** `revision` changes when files may have changed. */
export const treeQuery = (sessionId: string, revision: number) =>
  queryOptions({
    queryKey: ['tree', sessionId, revision],
    queryFn: ({ signal }) => client.call('workspaceTree', { params: { id: sessionId }, signal }),
    staleTime: 5000,
    placeholderData: before => before,
  })

/** Whether the item waits for an answer of a person, who has not snoozed it. */
export const needsAnswer = (item: InboxItem): boolean =>
  item.status === 'pending' &&
  item.snoozed_until === undefined &&
  (item.kind === 'input_required' || item.kind === 'action_required' || item.kind === 'governance_gate')

export const refreshSession = (queries: QueryClient, id: string) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: ['session', id] }),
    queries.invalidateQueries({ queryKey: ['sessions'] }),
    queries.invalidateQueries({ queryKey: recentSessionsQuery.queryKey }),
  ])

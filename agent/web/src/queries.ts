/** What the UI asks the API for, by query key. Streams nudge these; the server's answer is the truth. */
import { type QueryClient, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ArtifactSpec, InboxItem, SESSION_STATUSES } from '@cairn/protocol'
import { client } from './api.ts'

export type SessionScope = 'current' | 'archived'
const SCOPES: Record<SessionScope, string> = {
  current: ['active', 'paused', 'completed', 'failed'].join(','),
  archived: 'archived' satisfies (typeof SESSION_STATUSES)[number],
}

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

export const sessionsQuery = (scope: SessionScope) =>
  infiniteQueryOptions({
    queryKey: ['sessions', scope],
    queryFn: ({ pageParam, signal }) =>
      client.call('listSessions', {
        query: { limit: 60, status: SCOPES[scope], cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor,
    refetchInterval: 4000,
  })

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: ({ signal }) => client.call('getSession', { params: { id }, signal }),
    refetchInterval: 15_000,
  })

export type InboxScope = 'pending' | 'all'
export const inboxQuery = (scope: InboxScope, sessionId?: string) =>
  queryOptions({
    queryKey: ['inbox', scope, sessionId ?? null],
    queryFn: ({ signal }) =>
      client.call('listInbox', {
        query: { limit: 100, ...(scope === 'pending' ? { status: 'pending' } : {}), session_id: sessionId },
        signal,
      }),
    select: (page: { items: InboxItem[] }) => page.items,
    // The stream is faster; this covers one that is cut.
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

/** Waits for an answer of a person. */
export const needsAnswer = (item: InboxItem): boolean =>
  item.status === 'pending' &&
  (item.kind === 'input_required' || item.kind === 'action_required' || item.kind === 'governance_gate')

export const refreshSession = (queries: QueryClient, id: string) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: ['session', id] }),
    queries.invalidateQueries({ queryKey: ['sessions'] }),
  ])

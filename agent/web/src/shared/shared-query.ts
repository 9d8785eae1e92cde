/** Polls the shared session while the page is open; each request reads only events after the last one. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import type { AnswerOf, SessionEvent } from '@cairn/protocol'
import { emptySessionView, foldSessionView, type SessionView } from '@cairn/state'
import { client } from '../api.ts'

const EVERY_MS = 4000

type Shared = { session: AnswerOf<'readShared'>['session']; view: SessionView; last_id: number }

export const sharedQuery = (queries: QueryClient, token: string) => {
  const queryKey = ['shared', token] as const
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<Shared> => {
      const known = queries.getQueryData<Shared>(queryKey)
      let { view, last_id } = known ?? { view: emptySessionView, last_id: 0 }
      for (;;) {
        const page = await client.call('readShared', { body: { token, after: last_id }, signal })
        // The server omits some event types and keys; the rest is unchanged.
        view = foldSessionView(view, page.events as SessionEvent[])
        last_id = page.last_id
        if (!page.has_more) return { session: page.session, view, last_id }
      }
    },
    refetchInterval: ({ state }) => (state.error === null ? EVERY_MS : false),
    // The view is large, and a changed view is a new object.
    structuralSharing: false,
  })
}

/** The stream of sessions: what changed is shown at once, and the list is read again where it moved in it. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Session } from '@cairn/protocol'
import { client } from '../api.ts'
import { noteSession, type Listed } from '../queries.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { sayError } from '../ui/toasts.tsx'

/** The lists that a change may reorder are read again this much later, together with other changes. */
const SETTLE_MS = 300

export function useSessionsLive(): void {
  const queries = useQueryClient()
  useEffect(
    () =>
      followWhileVisible(() => {
        const stop = new AbortController()
        follow(queries, stop.signal).catch((error: unknown) => {
          if (!stop.signal.aborted) sayError(error)
        })
        return () => stop.abort()
      }),
    [queries],
  )
}

/** Whether every list that is shown has it, as it stands there: then its record is all that changes. */
function isInPlace(queries: QueryClient, session: Session): boolean {
  const lists = queries.getQueriesData<Listed>({ queryKey: ['sessions'] })
  return lists.every(([, data]) =>
    (data?.pages ?? []).some(page =>
      page.sessions.some(
        known => known.id === session.id && known.status === session.status && known.state === session.state,
      ),
    ),
  )
}

async function follow(queries: QueryClient, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const readAgain = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      void queries.invalidateQueries({ queryKey: ['sessions'] })
    }, SETTLE_MS)
  }
  try {
    for await (const changes of client.sessionStream({ signal }))
      for (const change of changes) {
        // Workers stand on the page of their root.
        if (
          change.type === 'opened' ||
          (change.session.parent_id === null && !isInPlace(queries, change.session))
        )
          readAgain()
        if (change.type === 'session') noteSession(queries, change.session)
      }
  } finally {
    clearTimeout(timer)
  }
}

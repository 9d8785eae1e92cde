/** The stream of sessions: what changed is shown at once, and the list is read again where it moved in it. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Session } from '@cairn/protocol'
import { followChanges } from '../live/live.ts'
import type { Change } from '../live/messages.ts'
import { noteSession, type Listed } from '../queries.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'

/** The lists that a change may reorder are read again this much later, together with other changes. */
const SETTLE_MS = 300

export function useSessionsLive(): void {
  const queries = useQueryClient()
  useEffect(() => followWhileVisible(() => follow(queries)), [queries])
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

function follow(queries: QueryClient): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const readAgain = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      void queries.invalidateQueries({ queryKey: ['sessions'] })
    }, SETTLE_MS)
  }
  const note = (change: Change) => {
    // Workers stand on the page of their root.
    if (
      change.type === 'opened' ||
      (change.type === 'session' && change.session.parent_id === null && !isInPlace(queries, change.session))
    )
      readAgain()
    if (change.type === 'session') noteSession(queries, change.session)
  }
  // The inbox follows the same changes, and reports the failure.
  const stop = followChanges({ onItems: changes => changes.forEach(note), onFailed: () => undefined })
  return () => {
    clearTimeout(timer)
    stop()
  }
}

/**
 * Applies the stream of session changes to the lists, and reads them again if their order may have changed.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Session } from '@cairn/protocol'
import { followChanges } from '../live/live.ts'
import type { Change } from '../live/messages.ts'
import { type Listed, noteSession, recentSessionsQuery } from '../queries.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'

/** Shapes and last steps lag behind the log by a few moments, so the last change is read once more. */
const LAG_MS = 3000
/** Delay before reordered lists are read again, so that several changes share one request. */
const SETTLE_MS = 300

export function useSessionsLive(): void {
  const queries = useQueryClient()
  useEffect(() => followWhileVisible(() => follow(queries)), [queries])
}

/**
 * Whether every list has the session with the same status and state, so that its position does not change.
 */
function isInPlace(queries: QueryClient, session: Session): boolean {
  const lists = queries.getQueriesData<Listed>({ queryKey: ['sessions'] })
  const recent = queries.getQueryData(recentSessionsQuery.queryKey) ?? []
  return (
    recent[0]?.id === session.id &&
    lists.every(([, data]) =>
      (data?.pages ?? []).some(page =>
        page.sessions.some(
          known =>
            known.id === session.id && known.status === session.status && known.state === session.state,
        ),
      ),
    )
  )
}

function follow(queries: QueryClient): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let late: ReturnType<typeof setTimeout> | undefined
  const readShapes = () => {
    clearTimeout(late)
    late = setTimeout(() => void queries.invalidateQueries({ queryKey: ['sessions'] }), LAG_MS)
  }
  const readAgain = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      void queries.invalidateQueries({ queryKey: recentSessionsQuery.queryKey })
    }, SETTLE_MS)
  }
  const note = (change: Change) => {
    // Workers are listed on the page of their root session.
    if (
      change.type === 'opened' ||
      (change.type === 'session' && change.session.parent_id === null && !isInPlace(queries, change.session))
    )
      readAgain()
    if (change.type === 'session') {
      noteSession(queries, change.session)
      if (change.session.parent_id === null) readShapes()
    }
  }
  // The inbox follows the same changes and reports the error.
  const stop = followChanges({ onItems: changes => changes.forEach(note), onFailed: () => undefined })
  return () => {
    clearTimeout(timer)
    clearTimeout(late)
    stop()
  }
}

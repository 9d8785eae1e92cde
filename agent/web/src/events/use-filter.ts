/** Applies a filter, and keeps the active row in view when the rows around it change. */
import { type RefObject, useEffect, useRef } from 'react'
import type { FollowedSession } from '../session/followed-session.ts'
import type { GridHandle } from './event-grid.tsx'
import { positionOf, type RowKey } from './event-index.ts'
import type { EventFilter } from './filter.ts'

export function useFilter(
  { index, setFilter }: FollowedSession,
  grid: RefObject<GridHandle | null>,
  { activeKey, isFollowing }: { activeKey: RowKey | null; isFollowing: boolean },
): (filter: EventFilter) => void {
  const isRevealDue = useRef(false)
  useEffect(() => {
    if (!isRevealDue.current || index.unscanned > 0) return
    isRevealDue.current = false
    if (!isFollowing)
      grid.current?.reveal(activeKey === null ? 0 : positionOf(index.rows, activeKey), 'center')
  })
  return filter => {
    setFilter(filter)
    isRevealDue.current = true
  }
}

/** The address of the page names the open event. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** A moment after it was opened: holding a key down must not flood the history. */
const SETTLED_MS = 250

/** `isReached` says whether the log has an event and has been looked through as far. */
export function useEventAddress(
  shownId: number | undefined,
  isReached: (id: number) => boolean,
  goTo: (id: number) => void,
): void {
  const { id: wantedId } = useSearch({ strict: false })
  const navigate = useNavigate()
  const arrivedAt = useRef<number | undefined>(undefined)
  useEffect(() => {
    if (wantedId !== undefined && arrivedAt.current === undefined) return
    const timer = setTimeout(() => {
      void navigate({ to: '.', search: shownId === undefined ? {} : { id: shownId }, replace: true })
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [shownId, wantedId, navigate])

  // An address that names an event waits until the log has reached it.
  useEffect(() => {
    if (wantedId === undefined || arrivedAt.current !== undefined || !isReached(wantedId)) return
    arrivedAt.current = wantedId
    goTo(wantedId)
  })
}

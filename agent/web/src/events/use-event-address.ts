/** Keeps the open event's id in the address of the page. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** Delay before the address changes, so that holding a key down does not flood the navigation. */
const SETTLED_MS = 250

/** `isReached` returns whether the log has loaded as far as an event and the filter has scanned it. */
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

  // Opens the event that the address names once the log has loaded it.
  useEffect(() => {
    if (wantedId === undefined || arrivedAt.current !== undefined || !isReached(wantedId)) return
    arrivedAt.current = wantedId
    goTo(wantedId)
  })
}

/**
 * Keys that work on every page: G and a letter opens a page, C starts a session, [ folds the navigation and ?
 * lists the keys.
 */
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import { NAV_PAGES } from './nav-pages.ts'

/** Time for the second key. */
const SECOND_KEY_MS = 1500
const OWN_KEYS = `${TAKES_KEYS}, [role="application"]`

/** The page that G and this key open. */
export const pageOfKey = (key: string, pages: typeof NAV_PAGES) => pages.find(page => page.key === key)?.to

/** When G was pressed, on the clock of events. */
let pressedG = -Infinity

export function useKeys({
  pages,
  onNew,
  onHelp,
  onFold,
}: {
  pages: typeof NAV_PAGES
  onNew: () => void
  onHelp: () => void
  onFold: () => void
}): void {
  const navigate = useNavigate()
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target
      // A view with its own keys has handled this one. Listening at the window, this runs last.
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
      if (target instanceof Element && target.closest(OWN_KEYS) !== null) return
      const isSecond = event.timeStamp - pressedG < SECOND_KEY_MS
      pressedG = -Infinity
      const to = isSecond ? pageOfKey(event.key.toLowerCase(), pages) : undefined
      if (to !== undefined) void navigate({ to })
      else if (event.key === 'g') pressedG = event.timeStamp
      else if (event.key === 'c') onNew()
      else if (event.key === '[') onFold()
      else if (event.key === '?') onHelp()
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  })
}

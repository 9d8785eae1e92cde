/**
 * The views of a session as tabs that are links.
 *
 * These are not the tabs of react-aria: their panel observes every change below it and looks for focusable
 * elements each time, which forces a layout in each frame while the EVENTS grid scrolls.
 */
import { Link } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { formatCount } from '../format.ts'
import { PanelIcon } from '../ui/page-icons.tsx'
import { sessionWords } from '../words/session.ts'

export type View = 'chat' | 'run' | 'workers' | 'browser' | 'events'
export const panelProps = (view: View) =>
  ({
    id: `panel-${view}`,
    role: 'tabpanel',
    'aria-labelledby': `tab-${view}`,
    className: 'tab-panel',
  }) as const

/** The arrow keys select the next or previous tab, and wrap around. */
function moveToNext(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
  event.preventDefault()
  const tabs = [...(event.currentTarget.parentElement?.children ?? [])] as HTMLElement[]
  const next = tabs.at(
    (tabs.indexOf(event.currentTarget) + (event.key === 'ArrowRight' ? 1 : -1)) % tabs.length,
  )
  next?.focus()
  next?.click()
}

type Props = {
  id: string
  view: View
  /** Number of events; null while the page has not read the log. */
  events: number | null
  /** Whether the session has had workers; without them the tab is hidden. */
  hasWorkers: boolean
  /** Whether the session has had a browser. */
  hasBrowser: boolean
  isRailOpen: boolean
  /** Opens and closes the rail; null if the page has none. */
  onRail: (() => void) | null
  /** The closed rail has something to show. */
  hasNews: boolean
}

export function SessionTabs({
  id,
  view,
  events,
  hasWorkers,
  hasBrowser,
  isRailOpen,
  onRail,
  hasNews,
}: Props) {
  const tab = (of: View) =>
    ({
      id: `tab-${of}`,
      role: 'tab',
      'data-testid': `tab-${of}`,
      'aria-selected': view === of,
      'aria-controls': view === of ? `panel-${of}` : undefined,
      tabIndex: view === of ? 0 : -1,
      params: { sessionId: id },
      className: 'tab',
      onKeyDown: moveToNext,
    }) as const
  return (
    <div className="session-views">
      <div className="tabs" role="tablist" aria-label={sessionWords.views}>
        <Link to="/sessions/$sessionId" {...tab('chat')}>
          {sessionWords.tabs.chat}
        </Link>
        <Link to="/sessions/$sessionId/run" {...tab('run')}>
          {sessionWords.tabs.run}
        </Link>
        {(hasWorkers || view === 'workers') && (
          <Link to="/sessions/$sessionId/workers" {...tab('workers')}>
            {sessionWords.tabs.workers}
          </Link>
        )}
        {(hasBrowser || view === 'browser') && (
          <Link to="/sessions/$sessionId/browser" {...tab('browser')}>
            {sessionWords.tabs.browser}
          </Link>
        )}
        <Link to="/sessions/$sessionId/events" {...tab('events')}>
          {sessionWords.tabs.events}{' '}
          {events !== null && <span className="tab-count numeric">{formatCount(events)}</span>}
        </Link>
      </div>
      {onRail !== null && (
        <button
          type="button"
          className="button quiet square rail-toggle"
          data-news={hasNews || undefined}
          aria-label={sessionWords.rail}
          title={sessionWords.rail}
          aria-expanded={isRailOpen}
          onClick={onRail}
          data-testid="rail-toggle"
        >
          <PanelIcon />
        </button>
      )}
    </div>
  )
}

/** One session: its head, and its log as a chat or as events. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useRouterState, useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useState, useMemo, useSyncExternalStore } from 'react'
import type { Session } from '@cairn/protocol'
import { describeError, isMissing } from '../api.ts'
import { noteSession, sessionQuery } from '../queries.ts'
import { titleMark } from '../sessions/session-state.tsx'
import { hasOverview } from '../rail/has-overview.ts'
import { isSection, type Section } from '../rail/sections.ts'
import { BackLink } from '../ui/page.tsx'
import { Empty } from '../ui/empty.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { ChatTab } from '../chat/chat-tab.tsx'
import { type FollowedSession, followSession } from './followed-session.ts'
import { SessionHead } from './session-head.tsx'
import { SessionTabs, type View, panelProps } from './session-tabs.tsx'
import './session.css'
import { generalWords } from '../words/general.ts'
import { errorsWords } from '../words/errors.ts'
import { followLog } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { keptLogs as logs } from './kept-logs.ts'
import { WHOLE_LOG_MAX } from '../live/whole-log.ts'

const BrowserTab = lazy(async () => ({ default: (await import('../browser/browser-tab.tsx')).BrowserTab }))
const EventsTab = lazy(async () => ({ default: (await import('../events/events-tab.tsx')).EventsTab }))
const Rail = lazy(() => import('../rail/rail.tsx'))
const RunTab = lazy(async () => ({ default: (await import('../run/run-tab.tsx')).RunTab }))
const WorkersTab = lazy(async () => ({ default: (await import('../workers/workers-tab.tsx')).WorkersTab }))

export function SessionPage() {
  const { sessionId } = useParams({ from: '/shell/sessions/$sessionId' })
  return <OpenSession key={sessionId} id={sessionId} />
}

function OpenSession({ id }: { id: string }) {
  const path = useRouterState({ select: state => state.location.pathname })
  const open: View = VIEWS.find(view => path.replace(/\/$/, '').endsWith(`/${view}`)) ?? 'chat'
  const { data: session, error, refetch } = useQuery(sessionQuery(id))
  const { log, isFollowed } = useSessionLog(id, open, session)
  const queries = useQueryClient()
  const places = usePlaces(id)
  const isWide = useMediaQuery('(min-width: 1100px)')
  const opensByItself = isWide && !places.isClosed
  const { state_id } = log.view
  // The server determines the state of the session; a new event in the log triggers the query.
  const readTo = session?.last_event_id ?? Infinity
  useEffect(() => {
    if (readTo < state_id) void refetch()
  }, [readTo, state_id, refetch])
  useEffect(() => {
    if (session) noteSession(queries, session)
  }, [queries, session])
  useDocumentTitle(log.view.title, session)

  if (error && !session) {
    return (
      <Empty level={1} isAlert title={isMissing(error) ? errorsWords.noSession : errorsWords.sessionFailed}>
        <p>{describeError(error)}</p>
        <Link className="button" to="/sessions">
          {generalWords.goToSessions}
        </Link>
      </Empty>
    )
  }
  const { showSection, showEvent } = places
  const section = places.section ?? (opensByItself && hasOverview(log.view) ? 'plan' : null)
  return (
    <div className="session">
      <header className="session-head">
        <BackLink hasCount />
        <SessionHead log={log} session={session} isFollowed={isFollowed} />
        <SessionTabs
          id={id}
          view={open}
          events={isFollowed ? log.index.events.length - log.index.deltas : null}
          hasWorkers={log.index.countByType.has('worker.spawned') || (session?.children_cost_usd ?? 0) > 0}
          hasBrowser={log.index.countByType.has('browser.provisioned')}
          isRailOpen={open === 'chat' && section !== null}
          onRail={open === 'chat' ? () => showSection(section === null ? lastSection : null) : null}
          hasNews={section === null && hasOverview(log.view)}
        />
      </header>
      <div {...panelProps(open)}>
        {open === 'chat' ? (
          <>
            <ChatTab
              log={log}
              session={session}
              onEvent={showEvent}
              onOverview={section === 'plan' ? null : () => showSection('plan')}
            />
            {section !== null && (
              <Suspense fallback={null}>
                <Rail
                  log={log}
                  session={session}
                  section={section}
                  onSection={showSection}
                  onEvent={showEvent}
                  takesFocus={places.isAsked}
                />
              </Suspense>
            )}
          </>
        ) : (
          <Suspense fallback={<p className="empty">{generalWords.loading}</p>}>
            <LoadedView view={open} log={log} session={session} />
          </Suspense>
        )}
      </div>
    </div>
  )
}

/** The title of the session in the browser's tab, marked by its state. */
function useDocumentTitle(titleOfLog: string | null | undefined, session: Session | undefined): void {
  const title = generalWords.pageTitle(
    `${session ? titleMark(session) : ''}${titleOfLog ?? session?.title ?? generalWords.session}`,
  )
  useEffect(() => {
    document.title = title
    return () => {
      document.title = generalWords.product
    }
  }, [title])
}

/** Views with their own path below the session's, each loaded on demand. */
const VIEWS = ['run', 'workers', 'browser', 'events'] as const

type Loaded = { view: (typeof VIEWS)[number]; log: FollowedSession; session: Session | undefined }

function LoadedView({ view, log, session }: Loaded) {
  switch (view) {
    case 'run':
      return <RunTab log={log} session={session} />
    case 'workers':
      return <WorkersTab log={log} session={session} />
    case 'browser':
      return <BrowserTab log={log} />
    case 'events':
      return <EventsTab log={log} session={session} />
  }
}

/** The section to show when the rail is opened next. */
let lastSection: Section = 'plan'

/** Set once a person closed the rail: it then opens only on request. */
const RAIL_CLOSED = 'cairn-rail-closed'

/** Navigation to an event, and to a section of the rail, which is part of the address. */
function usePlaces(id: string) {
  const navigate = useNavigate()
  const { rail } = useSearch({ strict: false })
  const section = isSection(rail) ? rail : null
  const [isClosed, setClosed] = useState(() => localStorage.getItem(RAIL_CLOSED) !== null)
  const [isAsked, setAsked] = useState(false)
  const showSection = useCallback(
    (next: Section | null) => {
      if (next !== null) lastSection = next
      setAsked(true)
      setClosed(next === null)
      if (next === null) localStorage.setItem(RAIL_CLOSED, '1')
      else localStorage.removeItem(RAIL_CLOSED)
      void navigate({ to: '.', search: next === null ? {} : { rail: next }, replace: true })
    },
    [navigate],
  )
  const showEvent = useCallback(
    (event: number) => {
      void navigate({ to: '/sessions/$sessionId/events', params: { sessionId: id }, search: { id: event } })
    },
    [navigate, id],
  )
  return { section, showSection, showEvent, isClosed, isAsked }
}

const KEPT = 4

function logOf(id: string): FollowedSession {
  const log =
    logs.get(id) ??
    followSession(id, followLog, {
      request: callback => {
        requestAnimationFrame(callback)
      },
      now: () => performance.now(),
    })
  logs.delete(id)
  logs.set(id, log)
  for (const oldest of logs.keys()) {
    if (logs.size <= KEPT) break
    logs.delete(oldest)
  }
  return log
}

/**
 * The log of the open session. Some logs stay in memory, so that returning to one resumes at its cursor. The
 * Run view of a long log reads only what it draws.
 */
function useSessionLog(id: string, open: View, session: Session | undefined) {
  const log = useMemo(() => logOf(id), [id])
  const isShort = session !== undefined && session.last_event_id <= WHOLE_LOG_MAX
  const isFollowed = open !== 'run' || isShort || log.index.events.length > 0
  useEffect(() => (isFollowed ? followWhileVisible(() => log.follow()) : undefined), [log, isFollowed])
  useSyncExternalStore(log.subscribe, () => log.revision)
  return { log, isFollowed }
}

/** One session: its head, and its log as a chat or as events. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useRouterState, useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useState, useMemo, useSyncExternalStore } from 'react'
import type { Session } from '@cairn/protocol'
import { describeError, isMissing } from '../api.ts'
import { noteSession, sessionQuery, meQuery } from '../queries.ts'
import { titleMark } from '../sessions/session-state.tsx'
import { BackIcon } from '../ui/page-icons.tsx'
import { isSection, type Section } from '../rail/sections.ts'
import { ChatTab } from '../chat/chat-tab.tsx'
import { type FollowedSession, followSession } from './followed-session.ts'
import { SessionHead } from './session-head.tsx'
import { SessionTabs, type View, panelProps } from './session-tabs.tsx'
import './session.css'
import { generalWords } from '../words/general.ts'
import { errorsWords } from '../words/errors.ts'
import { loginWords } from '../words/login.ts'
import { followLog } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { keptLogs as logs } from './kept-logs.ts'

const BrowserTab = lazy(async () => ({ default: (await import('../browser/browser-tab.tsx')).BrowserTab }))
const EventsTab = lazy(async () => ({ default: (await import('../events/events-tab.tsx')).EventsTab }))
const Rail = lazy(() => import('../rail/rail.tsx'))
const WorkersTab = lazy(async () => ({ default: (await import('../workers/workers-tab.tsx')).WorkersTab }))

export function SessionPage() {
  const { sessionId } = useParams({ from: '/shell/sessions/$sessionId' })
  return <OpenSession key={sessionId} id={sessionId} />
}

function OpenSession({ id }: { id: string }) {
  const log = useSessionLog(id)
  const path = useRouterState({ select: state => state.location.pathname })
  const { data: session, error, refetch } = useQuery(sessionQuery(id))
  const queries = useQueryClient()
  const places = usePlaces(id)
  const { state_id } = log.view
  // The server determines the state of the session; a new event in the log triggers the query.
  const readTo = session?.last_event_id ?? Infinity
  useEffect(() => {
    if (readTo < state_id) void refetch()
  }, [readTo, state_id, refetch])
  useEffect(() => {
    if (session) noteSession(queries, session)
  }, [queries, session])
  const title = generalWords.pageTitle(
    `${session ? titleMark(session) : ''}${log.view.title ?? session?.title ?? generalWords.session}`,
  )
  useEffect(() => {
    document.title = title
    return () => {
      document.title = generalWords.product
    }
  }, [title])

  if (error && !session) {
    return (
      <div className="empty" role="alert">
        <h1>{isMissing(error) ? errorsWords.noSession : errorsWords.sessionFailed}</h1>
        <p>{describeError(error)}</p>
        <Link className="button" to="/sessions">
          {generalWords.goToSessions}
        </Link>
      </div>
    )
  }
  const { section, showSection, showEvent, showPlan } = places
  const open: View = VIEWS.find(view => path.replace(/\/$/, '').endsWith(`/${view}`)) ?? 'chat'
  return (
    <div className="session">
      <header className="session-head">
        <Link to="/sessions" className="button quiet square back" aria-label={generalWords.backToSessions}>
          <BackIcon />
        </Link>
        <SessionHead log={log} session={session} />
        <SessionTabs
          id={id}
          view={open}
          events={log.index.events.length - log.index.deltas}
          hasWorkers={log.index.countByType.has('worker.spawned')}
          hasBrowser={log.index.countByType.has('browser.provisioned')}
          isRailOpen={open === 'chat' && section !== null}
          onRail={open === 'chat' ? () => showSection(section === null ? lastSection : null) : null}
        />
      </header>
      <PasswordOffer />
      <div {...panelProps(open)}>
        {open === 'chat' ? (
          <>
            <ChatTab log={log} session={session} onEvent={showEvent} onPlan={showPlan} />
            {section !== null && (
              <Suspense fallback={null}>
                <Rail log={log} section={section} onSection={showSection} onEvent={showEvent} />
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

/** Views with their own path below the session's, each loaded on demand. */
const VIEWS = ['workers', 'browser', 'events'] as const

type Loaded = { view: (typeof VIEWS)[number]; log: FollowedSession; session: Session | undefined }

function LoadedView({ view, log, session }: Loaded) {
  switch (view) {
    case 'workers':
      return <WorkersTab log={log} session={session} />
    case 'browser':
      return <BrowserTab sessionId={log.id} />
    case 'events':
      return <EventsTab log={log} session={session} />
  }
}

/** The section to show when the rail is opened next. */
let lastSection: Section = 'plan'

/** Navigation to an event, and to a section of the rail, which is part of the address. */
function usePlaces(id: string) {
  const navigate = useNavigate()
  const { rail } = useSearch({ strict: false })
  const section = isSection(rail) ? rail : null
  const showSection = useCallback(
    (next: Section | null) => {
      if (next !== null) lastSection = next
      void navigate({ to: '.', search: next === null ? {} : { rail: next }, replace: true })
    },
    [navigate],
  )
  const showPlan = useCallback(() => showSection('plan'), [showSection])
  const showEvent = useCallback(
    (event: number) => {
      void navigate({ to: '/sessions/$sessionId/events', params: { sessionId: id }, search: { id: event } })
    },
    [navigate, id],
  )
  return { section, showSection, showPlan, showEvent }
}

// Loaded on demand, because most people decline.
const PasswordDialog = lazy(async () => ({
  default: (await import('../password/password-dialog.tsx')).PasswordDialog,
}))

/** Set once the offer was declined in this browser. */
const KEY = 'cairn-no-password'

/** Offers a password to a person who logged in with a link, until they set or decline it. */
function PasswordOffer() {
  const { data: me } = useQuery(meQuery)
  const [isDeclined, setDeclined] = useState(() => localStorage.getItem(KEY) !== null)
  const [isAsking, setAsking] = useState(false)
  if (me?.has_password !== false || isDeclined) return null
  const decline = () => {
    localStorage.setItem(KEY, '1')
    setDeclined(true)
  }
  return (
    <aside className="password-offer" aria-label={loginWords.offer} data-testid="password-offer">
      <span>{loginWords.offerText}</span>
      <button type="button" className="button small" onClick={() => setAsking(true)}>
        {loginWords.setPassword}
      </button>
      <button type="button" className="button quiet small" onClick={decline}>
        {loginWords.notNow}
      </button>
      {isAsking && (
        <Suspense fallback={null}>
          <PasswordDialog onDone={() => setAsking(false)} />
        </Suspense>
      )}
    </aside>
  )
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

/** The log of the open session. Some logs stay in memory, so that returning to one resumes at its cursor. */
function useSessionLog(id: string): FollowedSession {
  const log = useMemo(() => logOf(id), [id])
  useEffect(() => followWhileVisible(() => log.follow()), [log])
  useSyncExternalStore(log.subscribe, () => log.revision)
  return log
}

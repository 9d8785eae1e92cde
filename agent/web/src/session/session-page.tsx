/** One session: its head, and its log as a chat or event by event. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams, useRouterState } from '@tanstack/react-router'
import { Suspense, lazy, useEffect } from 'react'
import { describeError, isMissing } from '../api.ts'
import { noteSession, sessionQuery } from '../queries.ts'
import { titleMark } from '../sessions/session-state.tsx'
import { BackIcon } from '../ui/icons.tsx'
import { ChatTab } from '../chat/chat-tab.tsx'
import { SessionHead } from './session-head.tsx'
import { SessionTabs, type View, panelProps } from './session-tabs.tsx'
import { useSessionLog } from './use-session-log.ts'
import './session.css'

const EventsTab = lazy(async () => ({ default: (await import('../events/events-tab.tsx')).EventsTab }))
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
  const { state_id } = log.view
  // What the session does is the server's to say; the log tells when to ask again.
  const readTo = session?.last_event_id ?? Infinity
  useEffect(() => {
    if (readTo < state_id) void refetch()
  }, [readTo, state_id, refetch])
  useEffect(() => {
    if (session) noteSession(queries, session)
  }, [queries, session])
  const title = `${session ? titleMark(session) : ''}${log.view.title ?? session?.title ?? 'Session'} · Cairn`
  useEffect(() => {
    document.title = title
    return () => {
      document.title = 'Cairn'
    }
  }, [title])

  if (error && !session) {
    return (
      <div className="empty" role="alert">
        <h1>{isMissing(error) ? 'There is no such session' : 'The session could not be read'}</h1>
        <p>{describeError(error)}</p>
        <Link className="button" to="/sessions">
          To the sessions
        </Link>
      </div>
    )
  }
  const open: View = /\/events\/?$/.test(path) ? 'events' : /\/workers\/?$/.test(path) ? 'workers' : 'chat'
  return (
    <div className="session">
      <header className="session-head">
        <Link to="/sessions" className="button quiet square back" aria-label="Back to the sessions">
          <BackIcon />
        </Link>
        <SessionHead log={log} session={session} />
        <SessionTabs
          id={id}
          view={open}
          events={log.index.events.length - log.index.deltas}
          hasWorkers={log.index.countByType.has('worker.spawned')}
        />
      </header>
      <div {...panelProps(open)}>
        {open === 'chat' ? (
          <ChatTab log={log} session={session} />
        ) : (
          <Suspense fallback={<p className="empty">Loading …</p>}>
            {open === 'workers' ? (
              <WorkersTab log={log} session={session} />
            ) : (
              <EventsTab log={log} session={session} />
            )}
          </Suspense>
        )}
      </div>
    </div>
  )
}

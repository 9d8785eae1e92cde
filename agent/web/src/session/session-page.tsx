/** One session: its head, and its log as a chat or event by event. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useRouterState } from '@tanstack/react-router'
import { Suspense, lazy, useEffect } from 'react'
import { describeError, isMissing } from '../api.ts'
import { sessionQuery } from '../queries.ts'
import { BackIcon } from '../shell/icons.tsx'
import { ChatTab } from '../chat/chat-tab.tsx'
import { SessionHead } from './session-head.tsx'
import { SessionTabs, type View, panelProps } from './session-tabs.tsx'
import { useSessionLog } from './use-session-log.ts'
import './session.css'

const EventsTab = lazy(async () => ({ default: (await import('../events/events-tab.tsx')).EventsTab }))

export function SessionPage() {
  const { sessionId } = useParams({ from: '/shell/sessions/$sessionId' })
  return <OpenSession key={sessionId} id={sessionId} />
}

function OpenSession({ id }: { id: string }) {
  const log = useSessionLog(id)
  const path = useRouterState({ select: state => state.location.pathname })
  const { data: session, error, refetch } = useQuery(sessionQuery(id))
  const { status, title } = log.view
  // The record carries what the log's fold does not (what is waited for, the model); a change in the log
  // makes it stale.
  const known = `${status} ${title} ${log.view.running}`
  useEffect(() => {
    if (known !== '') void refetch()
  }, [known, refetch])
  useEffect(() => {
    document.title = `${title ?? session?.title ?? 'Session'} · Cairn`
    return () => {
      document.title = 'Cairn'
    }
  }, [title, session?.title])

  if (error && !session) {
    return (
      <div className="empty" role="alert">
        <h2>{isMissing(error) ? 'There is no such session' : 'The session could not be read'}</h2>
        <p>{describeError(error)}</p>
        <Link className="button" to="/sessions">
          To the sessions
        </Link>
      </div>
    )
  }
  const open: View = /\/events\/?$/.test(path) ? 'events' : 'chat'
  return (
    <div className="session">
      <header className="session-head">
        <Link to="/sessions" className="button quiet square back" aria-label="Back to the sessions">
          <BackIcon />
        </Link>
        <SessionHead log={log} session={session} />
        <SessionTabs id={id} view={open} events={log.index.events.length} />
      </header>
      <div {...panelProps(open)}>
        {open === 'chat' ? (
          <ChatTab log={log} session={session} />
        ) : (
          <Suspense fallback={<p className="empty">Loading …</p>}>
            <EventsTab log={log} session={session} />
          </Suspense>
        )}
      </div>
    </div>
  )
}

/** The agent and the session of an item, and for a worker also its root session, with links. */
import { Link } from '@tanstack/react-router'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { SessionLink } from '../sessions/session-link.tsx'
import { inboxWords } from '../words/inbox.ts'
import { generalWords } from '../words/general.ts'

export function RaisedIn({ item }: { item: InboxItem }) {
  const isWorker = item.root_session_id !== item.session_id
  const title = item.session_title === null ? null : visibleText(item.session_title)
  return (
    <p className="raised-in muted" data-testid={isWorker ? 'from-worker' : 'from-session'}>
      {visibleText(item.agent)}
      {isWorker ? `${inboxWords.fromWorker} ` : ` ${inboxWords.in} `}
      <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: item.session_id }}>
        {title ?? (isWorker ? generalWords.untitled : inboxWords.untitled)}
      </Link>
      {isWorker && (
        <>
          {` ${inboxWords.of} `}
          <SessionLink id={item.root_session_id} unnamed={inboxWords.untitled} />
        </>
      )}
    </p>
  )
}

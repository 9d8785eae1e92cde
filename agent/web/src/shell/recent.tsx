/** The sessions that changed last, in the navigation. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import { recentSessionsQuery } from '../queries.ts'
import { hasContent, StateMark } from '../sessions/session-state.tsx'
import { generalWords } from '../words/general.ts'
import { shellWords } from '../words/shell.ts'

export function Recent() {
  const { data = [] } = useQuery(recentSessionsQuery)
  const open = useParams({ strict: false }).sessionId
  const sessions = data.filter(hasContent)
  if (sessions.length === 0) return <div className="recent" />
  return (
    <section className="recent" aria-label={shellWords.recentSessions}>
      <h2>{shellWords.recent}</h2>
      <ul>
        {sessions.map(session => (
          <li key={session.id}>
            <Link
              to="/sessions/$sessionId"
              params={{ sessionId: session.id }}
              className="nav-link"
              data-testid="recent-session"
              data-session-id={session.id}
              data-open={session.id === open || undefined}
              aria-current={session.id === open ? 'page' : undefined}
            >
              <StateMark session={session} />
              <span className="truncate">{visibleText(session.title ?? generalWords.untitledSession)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

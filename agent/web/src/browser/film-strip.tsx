/** The pages that the agent was on, also after the browser closed. A click opens the event of the visit. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { FollowedSession } from '../session/followed-session.ts'
import { fileQuery } from '../queries.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { TimeOf } from '../ui/time-of.tsx'
import { browserWords } from '../words/browser.ts'
import { type Visit, visitsOf } from './visited.ts'

export function FilmStrip({ log }: { log: FollowedSession }) {
  // Only a result of a tool can add a page; other events arrive with each frame of an answer.
  const results = log.index.countByType.get('tool.result') ?? 0
  const visits = useMemo(() => (results === 0 ? [] : visitsOf(log.index.events)), [log, results])
  if (visits.length === 0) return null
  return (
    <div className="film-strip" {...scrollRegion(browserWords.visited)}>
      <ol>
        {visits.map(visit => (
          <li key={visit.eventId}>
            <Link
              to="/sessions/$sessionId/events"
              params={{ sessionId: log.id }}
              search={{ id: visit.eventId }}
              data-testid="visit"
            >
              {visit.screenshot !== null && <Screenshot sessionId={log.id} path={visit.screenshot} />}
              <Caption {...visit} />
            </Link>
          </li>
        ))}
      </ol>
    </div>
  )
}

const Caption = ({ url, title, at }: Visit) => (
  <>
    <strong className="truncate" dir="auto">
      <ExactText text={title ?? url} />
    </strong>
    <span className="truncate muted">
      <ExactText text={url} />
    </span>
    <span className="faint">
      <TimeOf at={at} />
    </span>
  </>
)

/** Nothing while the file loads, and nothing if it was deleted since. */
function Screenshot({ sessionId, path }: { sessionId: string; path: string }) {
  const { data } = useQuery({ ...fileQuery(sessionId, path), retry: false })
  if (data === undefined || data.encoding !== 'base64' || data.truncated) return null
  return <img src={`data:image/png;base64,${data.content}`} alt="" />
}

/** The sessions that a search found, each with its matching texts. */
import { Link } from '@tanstack/react-router'
import type { AnswerOf } from '@cairn/protocol'
import type { ReactNode } from 'react'
import { visibleText } from '@cairn/protocol'
import { SessionItem } from './session-item.tsx'
import { sessionMenuWords } from '../words/session-menu.ts'

export type Result = AnswerOf<'search'>['results'][number]
type Hit = Result['hits'][number]

const WORDS = sessionMenuWords.foundIn

export function SearchResults({
  results,
  open,
  now,
}: {
  results: Result[]
  open: string | undefined
  now: number
}) {
  return (
    <ul className="session-list" data-testid="search-results">
      {results.map(({ session, hits }) => (
        <SessionItem key={session.id} session={session} isOpen={session.id === open} now={now}>
          {hits
            .filter(hit => hit.event_id > 0)
            .map(hit => (
              <HitLink key={hit.event_id} session={session.id} hit={hit} />
            ))}
        </SessionItem>
      ))}
    </ul>
  )
}

const HitLink = ({ session, hit }: { session: string; hit: Hit }) => (
  <Link
    className="hit"
    to="/sessions/$sessionId/events"
    params={{ sessionId: session }}
    search={{ id: hit.event_id }}
    data-testid="search-hit"
  >
    <span className="hit-in">{WORDS[hit.in]}</span> <Marked {...hit} />
  </Link>
)

function Marked({ text, marks }: Pick<Hit, 'text' | 'marks'>) {
  const parts: ReactNode[] = []
  let at = 0
  for (const [from, to] of marks) {
    parts.push(visibleText(text.slice(at, from)), <mark key={from}>{visibleText(text.slice(from, to))}</mark>)
    at = to
  }
  return (
    <span dir="auto">
      {parts}
      {visibleText(text.slice(at))}
    </span>
  )
}

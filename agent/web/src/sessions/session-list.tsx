/** Sessions, newest first, with what each is doing and has cost. Read again every few seconds. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { type Session, waitsFor } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { formatAgo, formatSpent, formatTokens, plural } from '../format.ts'
import { SESSIONS_PAGE, type SessionScope, noteSession, sessionsQuery } from '../queries.ts'
import { ArchiveIcon, SearchIcon } from '../ui/icons.tsx'
import { useNow } from '../ui/use-now.ts'
import { SessionActions } from './session-actions.tsx'
import { NeedsBadge, StateDot, stateWord } from './session-state.tsx'
import './session-list.css'

/** A search begins when the typing pauses for so long. */
const TYPING_MS = 200

export function SessionList() {
  const [scope, setScope] = useState<SessionScope>('current')
  const [text, setText] = useState('')
  const wanted = useSettled(text.trim(), TYPING_MS)
  const { data, error, isPending, isPlaceholderData, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(sessionsQuery(scope, wanted))
  const now = useNow(20_000)
  const open = useParams({ strict: false }).sessionId
  const sessions = (data?.pages ?? []).flatMap(page => page.sessions)
  const queries = useQueryClient()
  useEffect(() => {
    for (const { sessions } of data?.pages ?? [])
      for (const session of sessions) if (session.id === open) noteSession(queries, session)
  }, [queries, data, open])
  // A page of a search may be short, or empty, while older sessions are still to be looked through.
  const isSearchingOn = wanted !== '' && hasNextPage && sessions.length < SESSIONS_PAGE
  useEffect(() => {
    if (isSearchingOn && !isFetchingNextPage && !isPlaceholderData && !error) void fetchNextPage()
  }, [isSearchingOn, isFetchingNextPage, isPlaceholderData, error, fetchNextPage])
  const isLooking = isPending || isPlaceholderData || isSearchingOn || wanted !== text.trim()
  return (
    <section className="sessions" aria-label="Sessions">
      <div className="sessions-find">
        <div className="search">
          <SearchIcon />
          <input
            type="search"
            className="input"
            aria-label="Find a session"
            placeholder="Find a session"
            data-testid="session-search"
            value={text}
            onChange={event => setText(event.target.value)}
            onKeyDown={event => {
              if (event.key === 'Escape') setText('')
            }}
          />
        </div>
        <button
          type="button"
          className="button quiet square"
          aria-label="Show archived sessions"
          aria-pressed={scope === 'archived'}
          onClick={() => setScope(scope === 'archived' ? 'current' : 'archived')}
        >
          <ArchiveIcon />
        </button>
      </div>
      {error && (
        <p className="inline-error sessions-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <ul className="session-list" data-testid="session-list">
        {sessions.map(session => (
          <SessionItem key={session.id} session={session} isOpen={session.id === open} now={now} />
        ))}
      </ul>
      {!error && (
        <p className="sessions-note faint" role="status" data-testid="sessions-note">
          {noteOf({ wanted, scope, isLooking, found: sessions.length })}
        </p>
      )}
      {hasNextPage && !isSearchingOn && (
        <button
          type="button"
          className="button quiet"
          disabled={isFetchingNextPage}
          onClick={() => {
            void fetchNextPage()
          }}
        >
          {isFetchingNextPage ? 'Loading …' : wanted === '' ? 'Older sessions' : 'Older ones that fit'}
        </button>
      )}
    </section>
  )
}

/** What was searched, and that nothing was found only once everything was looked through. */
function noteOf({
  wanted,
  scope,
  isLooking,
  found,
}: {
  wanted: string
  scope: SessionScope
  isLooking: boolean
  found: number
}): string | null {
  const kind = scope === 'archived' ? 'archived session' : 'session'
  if (wanted !== '' && isLooking) return `Looking through titles, agents and ids of all ${kind}s …`
  if (wanted !== '' && found > 0) return 'Found by title, agent or id.'
  if (wanted !== '') return `No ${kind} has “${wanted}” in its title, agent or id.`
  if (isLooking || found > 0) return null
  return scope === 'archived' ? 'Nothing is archived.' : 'No sessions yet.'
}

/** A value once it has not changed for so long. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

function SessionItem({ session, isOpen, now }: { session: Session; isOpen: boolean; now: number }) {
  const tokens = session.input_tokens + session.output_tokens
  const workers = session.open_children
  // At rest, and yet not done: its workers go on.
  const isWaiting = session.status !== 'archived' && waitsFor(session) > 0
  return (
    <li className="session-item" data-open={isOpen || undefined}>
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: session.id }}
        className="session-link"
        data-testid="session-item"
        data-session-id={session.id}
        onKeyDown={moveFocus}
        aria-current={isOpen ? 'page' : undefined}
      >
        <StateDot session={session} />
        <span className="session-title truncate">
          {session.title ?? <span className="faint">Untitled session</span>}
        </span>
        <NeedsBadge session={session} />
        <span className="session-facts numeric">
          {isWaiting && <span>{stateWord(session)}</span>}
          <span>{formatAgo(session.updated_at, now)}</span>
          {tokens > 0 && <span>{formatTokens(tokens)} tokens</span>}
          {(session.cost_usd > 0 || !session.unpriced) && (
            <span>{formatSpent(session.cost_usd, session.unpriced)}</span>
          )}
          {workers > 0 && !isWaiting && <span>{plural(workers, 'worker')}</span>}
        </span>
      </Link>
      <SessionActions session={session} />
    </li>
  )
}

/** Arrow keys go from link to link, as in a list box, with the links staying links. */
function moveFocus(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...document.querySelectorAll<HTMLElement>('.session-link')]
  const at = links.indexOf(event.currentTarget)
  event.preventDefault()
  links[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
}

/** Sessions, newest first, with what each is doing and has cost. Read again every few seconds. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { Button, Input, SearchField, ToggleButton } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { formatAgo, formatCost, formatTokens } from '../format.ts'
import { type SessionScope, sessionsQuery } from '../queries.ts'
import { ArchiveIcon, SearchIcon } from '../shell/icons.tsx'
import { useNow } from '../shell/use-now.ts'
import { SessionActions } from './session-actions.tsx'
import { StatusDot, WaitingBadge } from './session-status.tsx'
import './session-list.css'

export function SessionList() {
  const [scope, setScope] = useState<SessionScope>('current')
  const [text, setText] = useState('')
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    sessionsQuery(scope),
  )
  const now = useNow(20_000)
  const open = useParams({ strict: false }).sessionId
  const sessions = (data?.pages ?? []).flatMap(page => page.sessions)
  const wanted = text.trim().toLowerCase()
  const shown =
    wanted === ''
      ? sessions
      : sessions.filter(session =>
          `${session.title ?? ''} ${session.agent} ${session.id}`.toLowerCase().includes(wanted),
        )
  return (
    <section className="sessions" aria-label="Sessions">
      <div className="sessions-find">
        <SearchField className="search" aria-label="Find a session" value={text} onChange={setText}>
          <SearchIcon />
          <Input className="input" placeholder="Find a session" data-testid="session-search" />
        </SearchField>
        <ToggleButton
          className="button quiet square"
          aria-label="Show archived sessions"
          isSelected={scope === 'archived'}
          onChange={on => setScope(on ? 'archived' : 'current')}
        >
          <ArchiveIcon />
        </ToggleButton>
      </div>
      {error && (
        <p className="inline-error sessions-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <ul className="session-list" data-testid="session-list">
        {shown.map(session => (
          <SessionItem key={session.id} session={session} isOpen={session.id === open} now={now} />
        ))}
      </ul>
      {!isPending && !error && shown.length === 0 && (
        <p className="sessions-none faint">
          {wanted !== ''
            ? 'No session fits.'
            : scope === 'archived'
              ? 'Nothing is archived.'
              : 'No sessions yet.'}
        </p>
      )}
      {hasNextPage && (
        <Button
          className="button quiet"
          isDisabled={isFetchingNextPage}
          onPress={() => {
            void fetchNextPage()
          }}
        >
          {isFetchingNextPage ? 'Loading …' : 'Older sessions'}
        </Button>
      )}
    </section>
  )
}

function SessionItem({ session, isOpen, now }: { session: Session; isOpen: boolean; now: number }) {
  const tokens = session.input_tokens + session.output_tokens
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
        <StatusDot status={session.status} isRunning={isAtWork(session)} />
        <span className="session-title truncate">
          {session.title ?? <span className="faint">Untitled session</span>}
        </span>
        <WaitingBadge on={session.waiting_on} />
        <span className="session-facts numeric">
          <span>{formatAgo(session.updated_at, now)}</span>
          {tokens > 0 && <span>{formatTokens(tokens)} tokens</span>}
          <span>{formatCost(session.cost_usd)}</span>
          {session.parent_id !== null && <span>child</span>}
        </span>
      </Link>
      <SessionActions session={session} />
    </li>
  )
}

/** As far as the record tells: a new session is active and has nothing to do. */
const isAtWork = (session: Session) =>
  session.status === 'active' &&
  session.message_count > 0 &&
  (session.waiting_on === null || session.waiting_on === 'approval')

/** Arrow keys go from link to link, as in a list box, with the links staying links. */
function moveFocus(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...document.querySelectorAll<HTMLElement>('.session-link')]
  const at = links.indexOf(event.currentTarget)
  event.preventDefault()
  links[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
}

/** One session of the list: its state, title and cost. */
import { Link } from '@tanstack/react-router'
import type { KeyboardEvent, ReactNode } from 'react'
import { formatSpent, formatTokens, type Session, waitsFor } from '@cairn/protocol'
import { formatAgo } from '../ui/use-now.ts'
import { SessionActions } from './session-actions.tsx'
import { NeedsBadge, StateDot, stateWord } from './session-state.tsx'
import { generalWords } from '../words/general.ts'

type Props = { session: Session; isOpen: boolean; now: number; children?: ReactNode }

export function SessionItem({ session, isOpen, now, children }: Props) {
  const tokens = session.input_tokens + session.output_tokens
  const workers = session.open_children
  // Its turn has ended, but its workers are still running.
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
          {session.title ?? <span className="faint">{generalWords.untitledSession}</span>}
        </span>
        <NeedsBadge session={session} />
        <span className="session-facts numeric">
          {isWaiting && <span>{stateWord(session)}</span>}
          <span>{formatAgo(session.updated_at, now)}</span>
          {tokens > 0 && <span>{generalWords.tokenCount(formatTokens(tokens))}</span>}
          {(session.cost_usd > 0 || !session.unpriced) && (
            <span>{formatSpent(session.cost_usd, session.unpriced)}</span>
          )}
          {workers > 0 && !isWaiting && <span>{generalWords.workers(workers)}</span>}
        </span>
      </Link>
      <SessionActions session={session} />
      {children}
    </li>
  )
}

/** The arrow keys move between the links, as in a list box. */
function moveFocus(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...document.querySelectorAll<HTMLElement>('.session-link')]
  const at = links.indexOf(event.currentTarget)
  event.preventDefault()
  links[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
}

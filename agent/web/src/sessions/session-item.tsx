/** One session of the list: its state, title and cost. */
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import { formatSpent, type Session } from '@cairn/protocol'
import { formatAgo } from '../ui/use-now.ts'
import { SessionActions } from './session-actions.tsx'
import { StateMark, shownState, stateWord } from './session-state.tsx'
import { generalWords } from '../words/general.ts'

type Props = { session: Session; isOpen: boolean; now: number; children?: ReactNode }

export function SessionItem({ session, isOpen, now, children }: Props) {
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpen])
  const isRunning = shownState(session) === 'running'
  return (
    <li className="session-item" ref={row} data-open={isOpen || undefined}>
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: session.id }}
        className="session-link"
        data-testid="session-item"
        data-session-id={session.id}
        onKeyDown={moveFocus}
        aria-current={isOpen ? 'page' : undefined}
      >
        <StateMark session={session} />
        <span className="session-title truncate">
          {session.title ?? <span className="faint">{generalWords.untitledSession}</span>}
        </span>
        <span className="session-facts numeric truncate">
          {session.state.startsWith('needs_') && (
            <span className="needs" data-testid="needs-badge">
              {stateWord(session)}
            </span>
          )}
          {isRunning && <span>{stateWord(session)}</span>}
          <span>{formatAgo(session.updated_at, now)}</span>
          {(session.cost_usd > 0 || !session.unpriced) && (
            <span>{formatSpent(session.cost_usd, session.unpriced)}</span>
          )}
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

/** What needs the reader, what is running, and the recent sessions. A section without content is left out. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { formatSpent, type Session, visibleText } from '@cairn/protocol'
import { LastStepText } from '../sessions/last-step.tsx'
import { StateMark, stateWord } from '../sessions/session-state.tsx'
import { ApprovalIcon, HandIcon, HelpIcon } from '../ui/icons.tsx'
import { Strip } from '../ui/strip.tsx'
import { formatAgo } from '../ui/use-now.ts'
import { generalWords } from '../words/general.ts'
import { homeWords } from '../words/home.ts'
import type { Home } from './home-query.ts'
import { groupNeeds, type Need } from './needs.ts'
import { Section, titleOf } from './section.tsx'

const MAX_NEEDS = 5
const MAX_RUNNING = 5
const MAX_RECENT = 5

const KIND_ICONS: Record<Need['kind'], () => ReactNode> = {
  governance_gate: ApprovalIcon,
  input_required: HelpIcon,
  action_required: HandIcon,
}

export function Needs({ needs, now }: { needs: Home['needs']; now: number }) {
  const groups = groupNeeds(needs.items)
  if (groups.length === 0) return null
  return (
    <Section
      name="needs"
      title={homeWords.needs}
      count={needs.count}
      link={<Link to="/inbox">{homeWords.openInbox}</Link>}
    >
      <ul className="list">
        {groups.slice(0, MAX_NEEDS).map(need => (
          <NeedRow key={need.key} need={need} now={now} />
        ))}
      </ul>
    </Section>
  )
}

function NeedRow({ need, now }: { need: Need; now: number }) {
  const Icon = KIND_ICONS[need.kind]
  const about = [need.kindWord, need.session ?? generalWords.untitledSession, need.agent]
  return (
    <li className="home-row" data-testid="need" data-kind={need.kind}>
      <span className="kind-icon waiting">
        <Icon />
      </span>
      {/* Opens the session of the item; a decision is made where the whole call is shown. */}
      <Link className="home-what" to="/sessions/$sessionId" params={{ sessionId: need.sessionId }}>
        <span className="truncate">
          {need.title} {need.object !== '' && <code>{need.object}</code>}
        </span>
        <span className="truncate muted">{about.join(' · ')}</span>
      </Link>
      <span className="home-age faint numeric">{formatAgo(need.at, now)}</span>
      <Link
        className="button small"
        to="/sessions/$sessionId"
        params={{ sessionId: need.sessionId }}
        aria-label={`${need.button}: ${need.title} ${need.object}`.trim()}
      >
        {need.button}
      </Link>
    </li>
  )
}

export function Running({ running, now }: { running: Home['running']; now: number }) {
  if (running.sessions.length === 0) return null
  return (
    <Section name="running" title={homeWords.running} count={running.count}>
      <ul className="list">
        {running.sessions.slice(0, MAX_RUNNING).map(session => (
          <SessionRow key={session.id} session={session} now={now}>
            <span className="kind-icon">
              <StateMark session={session} />
            </span>
            <span className="home-what">
              <span className="truncate">{titleOf(session)}</span>
              <span className="truncate muted">
                {visibleText(session.agent)}
                {session.open_children > 0 && ` · ${homeWords.workers(session.open_children)}`}
                {session.last_step && (
                  <>
                    {' · '}
                    <LastStepText step={session.last_step} />
                  </>
                )}
              </span>
            </span>
          </SessionRow>
        ))}
      </ul>
    </Section>
  )
}

export function Recent({ sessions, now }: { sessions: Home['recent']; now: number }) {
  if (sessions.length === 0) return null
  return (
    <Section
      name="recent"
      title={homeWords.recent}
      link={<Link to="/sessions">{homeWords.allSessions}</Link>}
    >
      <ul className="list">
        {sessions.slice(0, MAX_RECENT).map(session => (
          <SessionRow key={session.id} session={session} now={now}>
            <span className="home-state wide">
              <StateMark session={session} />
              {stateWord(session)}
            </span>
            <span className="truncate home-title">
              {titleOf(session)} <span className="faint">· {visibleText(session.agent)}</span>
            </span>
          </SessionRow>
        ))}
      </ul>
    </Section>
  )
}

/** The whole row is a link, which ends with the strip, the cost and the time of the last change. */
const SessionRow = ({ session, now, children }: { session: Session; now: number; children: ReactNode }) => (
  <li>
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.id }}
      className="home-row"
      data-testid="home-session"
      data-session-id={session.id}
    >
      {children}
      <span className="home-strip">
        <Strip shape={session.shape ?? []} />
      </span>
      <span className="home-cost numeric wide">
        {session.cost_usd === 0 && session.unpriced ? '' : formatSpent(session.cost_usd, session.unpriced)}
      </span>
      <span className="home-age faint numeric">{formatAgo(session.updated_at, now)}</span>
    </Link>
  </li>
)

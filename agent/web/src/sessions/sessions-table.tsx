/** Sessions as rows: a table on a wide screen, cards on a phone. Selected ones are archived or exported. */
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { formatSpent, type Session, type SessionSort, visibleText } from '@cairn/protocol'
import { icon } from '../ui/icons.tsx'
import { Strip } from '../ui/strip.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { generalWords } from '../words/general.ts'
import { sessionsWords } from '../words/sessions.ts'
import { sessionsPageWords } from '../words/sessions-page.ts'
import { byDay } from './days.ts'
import { LastStepText } from './last-step.tsx'
import { SessionActions } from './session-actions.tsx'
import { shownState, stateWord } from './session-state.tsx'
import { Status } from '../ui/status.tsx'
import '../ui/table.css'
import './sessions-table.css'

const BulkBar = lazy(() => import('./bulk-bar.tsx'))

const WORDS = sessionsPageWords.columns

export function SessionsTable({ sessions, sort }: { sessions: readonly Session[]; sort: SessionSort }) {
  const now = useNow(20_000)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const selected = sessions.filter(({ id }) => chosen.has(id))
  const isWide = useMediaQuery('(min-width: 1024px)')
  const choose = (id: string, isOn: boolean) => {
    const next = new Set(chosen)
    if (isOn) next.add(id)
    else next.delete(id)
    setChosen(next)
  }
  return (
    <div className="sessions-scroll">
      {selected.length > 0 && (
        <Suspense fallback={null}>
          <BulkBar sessions={selected} onDone={() => setChosen(new Set())} />
        </Suspense>
      )}
      {isWide ? (
        <table className="table sessions-table" data-testid="session-list">
          <thead>
            <tr>
              <th className="select">
                <input
                  type="checkbox"
                  aria-label={sessionsPageWords.selectAll}
                  checked={selected.length === sessions.length}
                  onChange={event =>
                    setChosen(new Set(event.target.checked ? sessions.map(({ id }) => id) : []))
                  }
                />
              </th>
              <th>{WORDS.status}</th>
              <th>{WORDS.title}</th>
              <th>{WORDS.step}</th>
              <th>{WORDS.agent}</th>
              <th>{WORDS.channel}</th>
              <th>{WORDS.strip}</th>
              <th className="number">{WORDS.cost}</th>
              <th className="number">{WORDS.changed}</th>
              <th>
                <span className="visually-hidden">{generalWords.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sessions.map(session => (
              <Row
                key={session.id}
                session={session}
                now={now}
                isChosen={chosen.has(session.id)}
                onChoose={isOn => choose(session.id, isOn)}
              />
            ))}
          </tbody>
        </table>
      ) : (
        <div className="session-cards" data-testid="session-list">
          {byDay(sessions, sort, now).map(({ label, sessions: ofDay }) => (
            <section key={label}>
              {label !== '' && <h2 className="session-day">{label}</h2>}
              <ul className="list">
                {ofDay.map(session => (
                  <Card key={session.id} session={session} now={now} />
                ))}
              </ul>
            </section>
          ))}
        </div>
      )}
    </div>
  )
}

const titleOf = ({ title }: Session): string => visibleText(title ?? generalWords.untitledSession)
const costOf = ({ cost_usd, unpriced }: Session): string =>
  cost_usd === 0 && unpriced ? '' : formatSpent(cost_usd, unpriced)

const StatusOf = ({ session }: { session: Session }) => (
  <Status
    kind={shownState(session)}
    word={stateWord(session)}
    {...(session.state.startsWith('needs_') && { testId: 'needs-badge' })}
  />
)

const PinIcon = icon(<path d="M6 2.5h4l-.5 4 2.5 2.5H4l2.5-2.5zM8 9v4.5" />)

const PinMark = () => (
  <span className="pin-mark" role="img" aria-label={sessionsWords.pinned}>
    <PinIcon />
  </span>
)

type RowProps = { session: Session; now: number; isChosen: boolean; onChoose: (isOn: boolean) => void }

function Row({ session, now, isChosen, onChoose }: RowProps) {
  return (
    <tr data-chosen={isChosen || undefined}>
      <td className="select">
        <input
          type="checkbox"
          aria-label={sessionsPageWords.select(titleOf(session))}
          checked={isChosen}
          onChange={event => onChoose(event.target.checked)}
          data-testid="select-session"
        />
      </td>
      <td>
        <StatusOf session={session} />
      </td>
      <th scope="row" className="title" aria-label={titleOf(session)}>
        <SessionLink session={session}>
          <span className="truncate">
            {session.pinned && <PinMark />}
            {titleOf(session)}
          </span>
        </SessionLink>
      </th>
      <td className="step">
        <span className="truncate muted">
          {session.last_step && <LastStepText step={session.last_step} />}
        </span>
      </td>
      <td className="name">
        <span className="truncate">{visibleText(session.agent)}</span>
      </td>
      <td className="name">
        <span className="truncate muted">{visibleText(session.channel)}</span>
      </td>
      <td className="strip-cell">
        <Strip shape={session.shape ?? []} />
      </td>
      <td className="number">{costOf(session)}</td>
      <td className="number muted">{formatAgo(session.updated_at, now)}</td>
      <td className="menu-cell">
        <SessionActions session={session} />
      </td>
    </tr>
  )
}

const SessionLink = ({ session, children }: { session: Session; children: ReactNode }) => (
  <Link
    to="/sessions/$sessionId"
    params={{ sessionId: session.id }}
    className="session-row-link"
    data-testid="session-item"
    data-session-id={session.id}
  >
    {children}
  </Link>
)

const Card = ({ session, now }: { session: Session; now: number }) => (
  <li className="session-card">
    <SessionLink session={session}>
      <span className="truncate title">{titleOf(session)}</span>
      <span className="truncate muted step">
        {session.last_step && <LastStepText step={session.last_step} />}
      </span>
      <span className="facts">
        <StatusOf session={session} />
        <span className="truncate muted">{visibleText(session.agent)}</span>
        <span className="muted numeric">{costOf(session)}</span>
        <span className="faint numeric">{formatAgo(session.updated_at, now)}</span>
      </span>
      <Strip shape={session.shape ?? []} />
    </SessionLink>
    <SessionActions session={session} />
  </li>
)

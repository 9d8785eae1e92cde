/** The open item: its source, its text in full, and the bar with the decision. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type InboxItem, visibleText } from '@cairn/protocol'
import type { ReactNode } from 'react'
import { formatTime } from '../format.ts'
import { ActionRequest } from '../decisions/action-request.tsx'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { proposedSkill, SkillText } from '../decisions/proposal.tsx'
import { whyAsked } from '../decisions/why-asked.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { meQuery, needsAnswer } from '../queries.ts'
import { SessionLink } from '../sessions/session-link.tsx'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'
import { ItemActions } from './item-actions.tsx'
import { ItemName, namesOf } from './item-words.tsx'
import { SetAsideButtons } from './set-aside-buttons.tsx'
import type { SetAside } from './use-set-aside.ts'

type Props = {
  item: InboxItem
  /** Called after a decision of this person was accepted. */
  onDecided: () => void
  setAside: SetAside
}

export function ItemPane({ item, onDecided, setAside }: Props) {
  const skill = proposedSkill(item)
  const task = blockedTaskOf(item)
  const shown = useGateArguments(item.payload)
  const isGate = item.kind === 'governance_gate'
  // The title of a blocked task contains its reason, unless that is long.
  const isSaid = task !== null && item.body !== null && item.title.endsWith(item.body)
  const isPending = item.status === 'pending'
  /** Forms stand where they are read, not in the bar. */
  const hasForm = isPending && (item.kind === 'input_required' || task !== null)
  const isRequest = item.kind === 'action_required' && skill === null && task === null
  const actions = (
    <ItemActions
      item={item}
      shown={shown}
      onDecided={onDecided}
      onAcknowledge={() => setAside.acknowledge.mutate([item])}
    />
  )
  return (
    <section
      className="inbox-pane"
      aria-label={namesOf(item).kind}
      data-testid="inbox-item"
      data-kind={item.kind}
      data-status={item.status}
    >
      <div className="inbox-read" tabIndex={-1}>
        <header className="inbox-title">
          <h2>
            <ItemName item={item} />
          </h2>
          <span className={`badge${needsAnswer(item) ? ' waiting' : ''}`}>{namesOf(item).kind}</span>
        </header>
        <Facts item={item} />
        {isRequest && <ActionRequest item={item} />}
        {!isRequest && !isGate && item.body !== null && item.body !== '' && !isSaid && (
          <div className="inbox-body">
            {/* A final answer is Markdown; the agent's other texts are plain. */}
            {item.kind === 'task_complete' ? (
              <Markdown text={visibleText(item.body)} />
            ) : (
              visibleText(item.body)
            )}
          </div>
        )}
        {isGate && <GateArgumentsView {...shown} />}
        {skill !== null && <SkillText skill={skill} />}
        {hasForm && <div className="inbox-form">{actions}</div>}
      </div>
      <footer className="inbox-bar">
        {isPending ? <span className="muted">{noteOf(item)}</span> : <Outcome item={item} />}
        <span className="inbox-buttons">
          <SetAsideButtons item={item} setAside={setAside} />
          <Link
            className="button"
            to="/sessions/$sessionId"
            params={{ sessionId: item.session_id }}
            aria-label={inboxWords.openNamed(visibleText(item.session_title ?? '')).trim()}
            data-testid="inbox-open-session"
          >
            {inboxWords.open}
          </Link>
          {isPending && !hasForm && actions}
        </span>
      </footer>
    </section>
  )
}

/** Beside the buttons: until when the item is snoozed, or that a decision cannot be undone. */
function noteOf(item: InboxItem): string {
  if (item.snoozed_until !== undefined)
    return inboxWords.snoozedUntil(formatTime(item.snoozed_until, Date.now()))
  return needsAnswer(item) ? inboxWords.final : ''
}

const Facts = ({ item }: { item: InboxItem }) => (
  <dl className="inbox-facts">
    <Fact name={inboxWords.session}>
      <RaisedIn item={item} />
      {' · '}
      <Link
        className="json-link"
        to="/sessions/$sessionId/events"
        params={{ sessionId: item.session_id }}
        search={{ id: item.source_event_id }}
      >
        {generalWords.event(item.source_event_id)}
      </Link>
    </Fact>
    {item.kind === 'governance_gate' && (
      <Fact name={inboxWords.whyYou}>{visibleText(whyAsked(reasonOf(item) ?? item.body ?? ''))}</Fact>
    )}
  </dl>
)

const reasonOf = ({ payload: { deny_reason: reason } }: InboxItem): string | null =>
  typeof reason === 'string' ? reason : null

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const DECIDED: Record<string, string> = inboxWords.outcomes

/** The decision on an item and its author. A service account is never shown as a person. */
function Outcome({ item }: { item: InboxItem }) {
  const { data: me } = useQuery(meQuery)
  const word = item.decision ?? item.status
  const { decided_by_user_id: user, decided_by_service_account_id: machine, decided_by_name: name } = item
  return (
    <span className="muted" data-testid="inbox-outcome">
      {DECIDED[word] ?? word}
      {user !== undefined &&
        (user === me?.id ? ` ${inboxWords.byYou}` : <Named by={inboxWords.byUser} id={user} name={name} />)}
      {machine !== undefined && <Named by={inboxWords.byServiceAccount} id={machine} name={name} />}
    </span>
  )
}

/** A deleted account is shown by its id. */
const Named = ({ by, id, name }: { by: string; id: string; name: string | undefined }) => (
  <>
    {` ${by} `}
    {name === undefined ? <code>{id}</code> : <span title={id}>{visibleText(name)}</span>}
  </>
)

/** The agent and the session of an item, and for a worker also its root session, with links. */
export function RaisedIn({ item }: { item: InboxItem }) {
  const isWorker = item.root_session_id !== item.session_id
  const title = item.session_title === null ? null : visibleText(item.session_title)
  return (
    <span data-testid={isWorker ? 'from-worker' : 'from-session'}>
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
    </span>
  )
}

/** One item of the inbox: its text, its source, and its actions. */
import { useMutation, useQueryClient, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { proposedSkill, SkillText } from '../decisions/proposal.tsx'
import { whyAsked } from '../decisions/why-asked.ts'
import { formatAgo } from '../ui/use-now.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { needsAnswer, meQuery } from '../queries.ts'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { ItemActions } from './item-actions.tsx'
import { inboxWords } from '../words/inbox.ts'
import { generalWords } from '../words/general.ts'
import { SessionLink } from '../sessions/session-link.tsx'

const KINDS = inboxWords.kinds

export function InboxEntry({ item, now }: { item: InboxItem; now: number }) {
  const skill = proposedSkill(item)
  const task = blockedTaskOf(item)
  const { deny_reason: reason } = item.payload
  const shown = useGateArguments(item.payload)
  // The body of a gate repeats its arguments, which are shown in full below.
  const text = item.kind === 'governance_gate' && typeof reason === 'string' ? whyAsked(reason) : item.body
  // The title of a blocked task contains its reason, unless that is long.
  const isSaid = task !== null && text !== null && item.title.endsWith(text)
  const isPending = item.status === 'pending'
  /** Forms need the width of the card. */
  const hasForm = isPending && (item.kind === 'input_required' || task !== null)
  const actions = <ItemActions item={item} shown={shown} />
  return (
    <li
      className="inbox-item"
      data-testid="inbox-item"
      data-kind={item.kind}
      data-status={item.status}
      data-unread={(item.read_at === null && item.status === 'pending') || undefined}
    >
      <header>
        <span className={`badge${needsAnswer(item) ? ' waiting' : ''}`}>
          {skill !== null ? inboxWords.proposal : task !== null ? generalWords.blocked : KINDS[item.kind]}
        </span>
        <h2>{visibleText(item.title)}</h2>
        <time className="faint" dateTime={item.created_at}>
          {formatAgo(item.created_at, now)}
        </time>
      </header>
      <RaisedIn item={item} />
      {text !== null && text !== '' && !isSaid && (
        <div className="inbox-body">
          {/* A final answer is Markdown; the agent's other texts are plain. */}
          {item.kind === 'task_complete' ? <Markdown text={visibleText(text)} /> : visibleText(text)}
        </div>
      )}
      {item.kind === 'governance_gate' && <GateArgumentsView {...shown} />}
      {skill !== null && <SkillText skill={skill} />}
      {hasForm && <div className="inbox-form">{actions}</div>}
      <footer>
        <Origin item={item} />
        {!hasForm && <span className="inbox-buttons">{isPending ? actions : <Outcome item={item} />}</span>}
      </footer>
    </li>
  )
}

/** Links to the source of the item. Opening the session marks the item as read. */
function Origin({ item }: { item: InboxItem }) {
  const queries = useQueryClient()
  const read = useMutation({
    mutationFn: () => client.call('readInboxItem', { params: { item_id: item.id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  return (
    <>
      <Link
        className="json-link"
        to="/sessions/$sessionId"
        params={{ sessionId: item.session_id }}
        aria-label={inboxWords.openNamed(visibleText(item.session_title ?? '')).trim()}
        onClick={() => {
          if (item.read_at === null) read.mutate()
        }}
      >
        {inboxWords.open}
      </Link>
      <Link
        className="json-link"
        to="/sessions/$sessionId/events"
        params={{ sessionId: item.session_id }}
        search={{ id: item.source_event_id }}
      >
        {generalWords.event(item.source_event_id)}
      </Link>
    </>
  )
}

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
function RaisedIn({ item }: { item: InboxItem }) {
  const isWorker = item.root_session_id !== item.session_id
  const title = item.session_title === null ? null : visibleText(item.session_title)
  return (
    <p className="raised-in muted" data-testid={isWorker ? 'from-worker' : 'from-session'}>
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
    </p>
  )
}

/** Facts about an event besides its payload, and links to related events. */
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import { EVENTS, type SessionEvent, isEventType } from '@cairn/protocol'
import { client } from '../api.ts'
import { formatDelta } from '../format.ts'
import { DownIcon, UpIcon } from '../ui/page-icons.tsx'
import { say } from '../ui/toasts.tsx'
import type { TurnSums } from './turn-sums.ts'
import { eventsWords } from '../words/events.ts'
import { generalWords } from '../words/general.ts'

type Props = {
  event: SessionEvent
  before: SessionEvent | undefined
  turn: TurnSums | undefined
  onJump: (id: number) => void
  /** Shows the events that name a call; undefined in a view without a filter. */
  onRelated: ((text: string) => void) | undefined
}

export function EventFacts(props: Props) {
  const { type } = props.event
  return (
    <>
      {isEventType(type) ? (
        <p className="detail-when">{EVENTS[type].when}</p>
      ) : (
        <p className="detail-when">{eventsWords.unknownType}</p>
      )}
      <dl className="facts">
        <When {...props} />
        <Origin event={props.event} />
        <Related {...props} />
      </dl>
    </>
  )
}

function When({ event, before, turn, onJump }: Props) {
  return (
    <>
      <dt>{eventsWords.time}</dt>
      <dd className="numeric">
        {new Date(event.created_at).toLocaleString('en-GB')} <span className="faint">{event.created_at}</span>
      </dd>
      {before && (
        <>
          <dt>{eventsWords.after}</dt>
          <dd className="numeric">
            {formatDelta(Date.parse(event.created_at) - Date.parse(before.created_at))}{' '}
            <button type="button" className="json-link" onClick={() => onJump(before.id)}>
              {before.type} {before.id}
            </button>
          </dd>
        </>
      )}
      {turn && (
        <>
          <dt>{eventsWords.turnHead}</dt>
          <dd>
            <button type="button" className="json-link" onClick={() => onJump(turn.startId)}>
              {turn.number}
            </button>
          </dd>
        </>
      )}
    </>
  )
}

function Origin({ event }: { event: SessionEvent }) {
  if (!isEventType(event.type) || EVENTS[event.type].producer === 'none') return null
  return (
    <>
      <dt>{eventsWords.producer}</dt>
      <dd>{EVENTS[event.type].producer}</dd>
    </>
  )
}

function Related({ event, onRelated }: Props) {
  const callId = (event.data as { tool_call_id?: unknown }).tool_call_id
  const child = otherSession(event)
  return (
    <>
      {child !== null && (
        <>
          <dt>{generalWords.session}</dt>
          <dd>
            <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: child }}>
              {eventsWords.openSession(child)}
            </Link>
          </dd>
        </>
      )}
      {(event.type === 'llm.response' || event.type === 'expert.result') && (
        <>
          <dt>{eventsWords.rate}</dt>
          <dd>
            <Rating event={event} />
          </dd>
        </>
      )}
      {typeof callId === 'string' && onRelated !== undefined && (
        <>
          <dt>{eventsWords.call}</dt>
          <dd>
            <button type="button" className="json-link" onClick={() => onRelated(callId)}>
              {eventsWords.showCall(callId)}
            </button>
          </dd>
        </>
      )}
    </>
  )
}

/** The other session that an event of coordination is about. */
function otherSession(event: SessionEvent): string | null {
  switch (event.type) {
    case 'worker.spawned':
    case 'worker.complete':
    case 'worker.failed':
      return event.data.worker_id
    case 'delegation.start':
    case 'delegation.complete':
    case 'delegation.failed':
    case 'delegation.stale':
      return event.data.child_session_id
    case 'loop.result':
      return event.data.run_session_id
    default:
      return null
  }
}

function Rating({ event }: { event: SessionEvent }) {
  const rate = useMutation({
    mutationFn: (rating: 'up' | 'down') =>
      client.call('giveFeedback', { params: { id: event.session_id, event_id: event.id }, body: { rating } }),
    onSuccess: ({ event_id, event_type }) => say(eventsWords.rated(event_type, event_id)),
  })
  return (
    <span className="rating">
      <Button
        className="button quiet square small"
        aria-label={eventsWords.good}
        isDisabled={rate.isPending}
        onPress={() => rate.mutate('up')}
        data-testid="rate-up"
      >
        <UpIcon />
      </Button>
      <Button
        className="button quiet square small"
        aria-label={eventsWords.bad}
        isDisabled={rate.isPending}
        onPress={() => rate.mutate('down')}
        data-testid="rate-down"
      >
        <DownIcon />
      </Button>
    </span>
  )
}

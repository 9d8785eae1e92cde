/** The events of the selected step, with two on each side; the chosen one as JSON with its facts. */
import type { SessionEvent } from '@cairn/protocol'
import { summarize } from '@cairn/protocol'
import type { Spans } from '@cairn/state'
import { EventFacts } from '../events/event-facts.tsx'
import { familyOfAny, isDelta } from '../events/filter.ts'
import { JsonView } from '../events/json-view.tsx'
import { formatDelta } from '../format.ts'
import { CopyIcon } from '../ui/page-icons.tsx'
import { say, sayError } from '../ui/toasts.tsx'
import { eventsWords } from '../words/events.ts'

/** Events on each side of the step, and of a long step at each of its ends. */
const BESIDE = 2
const ENDS = 20

type Props = {
  events: readonly SessionEvent[]
  spans: Spans
  span: number
  /** The selected event. */
  chosen: number
  onEvent: (id: number) => void
}

/** Whether an event is part of the step: its start, its end, or one that names the same call. */
export const isOfStep = (event: SessionEvent, first: SessionEvent | undefined, last: number): boolean =>
  event.id === first?.id || event.id === last || (callOf(first) !== null && callOf(event) === callOf(first))

const callOf = (event: SessionEvent | undefined): string | null => {
  const id = (event?.data as { tool_call_id?: unknown } | undefined)?.tool_call_id
  return typeof id === 'string' ? id : null
}

export function eventsOfStep(events: readonly SessionEvent[], spans: Spans, span: number): SessionEvent[] {
  const from = spans.event[span] ?? 0
  const to = spans.last[span] ?? from
  const rows = events.filter(event => !isDelta(event) || event.id === from || event.id === to)
  const start = rows.findIndex(({ id }) => id >= from)
  if (start === -1) return []
  const end = rows.findLastIndex(({ id }) => id <= to)
  const shown = rows.slice(Math.max(0, start - BESIDE), end + 1 + BESIDE)
  return shown.length <= 2 * ENDS ? shown : [...shown.slice(0, ENDS), ...shown.slice(-ENDS)]
}

export function ReadingEvents({ events, spans, span, chosen, onEvent }: Props) {
  const shown = eventsOfStep(events, spans, span)
  const from = spans.event[span] ?? 0
  const last = spans.last[span] ?? from
  const first = events.find(({ id }) => id === from)
  const event = shown.find(({ id }) => id === chosen) ?? shown.find(({ id }) => id === from)
  return (
    <div className="run-events" data-testid="reading-events">
      <ol aria-label={eventsWords.grid}>
        {shown.map((one, i) => (
          <li key={one.id}>
            <button
              type="button"
              className="run-event"
              data-of-step={isOfStep(one, first, last) || undefined}
              data-family={familyOfAny(one.type)}
              aria-current={one === event || undefined}
              onClick={() => onEvent(one.id)}
              data-testid="reading-event"
            >
              <span className="faint numeric">{one.id}</span>
              <span className="faint numeric">{afterOf(one, shown[i - 1])}</span>
              <span className="run-event-type truncate">{one.type}</span>
              <span className="truncate">{summarize(one)}</span>
            </button>
          </li>
        ))}
      </ol>
      {event !== undefined && (
        <div className="run-event-detail" data-family={familyOfAny(event.type)}>
          <header>
            <strong className="mono">{event.type}</strong> <span className="faint numeric">{event.id}</span>
            <button type="button" className="button quiet small" onClick={() => copy(event)}>
              <CopyIcon />
              {eventsWords.copyJson}
            </button>
          </header>
          <JsonView key={event.id} value={event.data} onJump={onEvent} />
          <EventFacts
            event={event}
            before={events[events.indexOf(event) - 1]}
            turn={undefined}
            onJump={onEvent}
            onRelated={undefined}
          />
        </div>
      )}
    </div>
  )
}

const afterOf = (event: SessionEvent, before: SessionEvent | undefined): string =>
  before === undefined ? '' : formatDelta(Date.parse(event.created_at) - Date.parse(before.created_at))

function copy(event: SessionEvent): void {
  navigator.clipboard
    .writeText(JSON.stringify(event, null, 2))
    .then(() => say(eventsWords.copied(event.id)), sayError)
}

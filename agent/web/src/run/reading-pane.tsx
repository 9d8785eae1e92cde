/** The selected step, read as chat, as events, or as details. */
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, type PointerEvent, type RefObject, useRef } from 'react'
import { hasFlag } from '@cairn/state'
import { describeError } from '../api.ts'
import { useFork } from '../chat/use-fork.ts'
import { ChipView } from '../chat/tool-row.tsx'
import { formatDuration } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { CloseIcon } from '../ui/icons.tsx'
import { ChevronIcon, ForkIcon } from '../ui/page-icons.tsx'
import { sayError } from '../ui/toasts.tsx'
import { generalWords } from '../words/general.ts'
import { runWords } from '../words/run.ts'
import { ReadingChat } from './reading-chat.tsx'
import { ReadingDetails } from './reading-details.tsx'
import { eventsOfStep, ReadingEvents } from './reading-events.tsx'
import { RowIconView } from './run-row.tsx'
import { chipsOf, textOfRow } from './span-text.ts'
import { formatElapsed } from './ticks.ts'
import { turnNumber, turnOf } from './turn-facts.ts'
import { type EventRange, rangeOfSelection, useEventsAround } from './use-events-around.ts'
import type { Run } from './use-run.ts'

export const READINGS = ['chat', 'events', 'details'] as const
export type Reading = (typeof READINGS)[number]

type Props = {
  run: Run
  log: FollowedSession
  reading: Reading
  pane: RefObject<HTMLElement | null>
  onReading: (reading: Reading) => void
  onClose: () => void
  onStep: (by: 1 | -1) => void
}

export function ReadingPane({ pane, ...rest }: Props) {
  const range = rangeOfSelection(rest.run)
  return (
    <section
      className="run-pane"
      aria-label={runWords.selected}
      tabIndex={-1}
      ref={pane}
      data-testid="reading-pane"
    >
      {range === null ? (
        <p className="run-note muted">{runWords.nothingSelected}</p>
      ) : (
        <Selected {...rest} range={range} />
      )}
    </section>
  )
}

type SelectedProps = Omit<Props, 'pane'> & { range: EventRange }

function Selected({ run, log, reading, onReading, onClose, onStep, range }: SelectedProps) {
  const { events, isLoading, error } = useEventsAround(run, log, range)
  const { session } = range
  const spans = run.source.tables.get(session)
  const { span, selection } = run
  if (spans === undefined || selection === null) return null
  const onEvent = (event: number) => run.select({ session, event })
  const isOwn = session === run.source.session
  return (
    <>
      <PaneHead run={run} range={range} onClose={onClose} onStep={onStep} />
      <div className="run-readings">
        <div className="tabs" role="tablist" aria-label={runWords.reading}>
          {READINGS.map(one => (
            <button
              key={one}
              type="button"
              role="tab"
              id={`reading-tab-${one}`}
              className="tab"
              aria-selected={one === reading}
              aria-controls="reading-panel"
              tabIndex={one === reading ? 0 : -1}
              onClick={() => onReading(one)}
              onKeyDown={moveReading(reading, onReading)}
              data-testid={`reading-tab-${one}`}
            >
              {runWords.readings[one]}
              {one === 'events' && (
                <span className="tab-count numeric">{eventsOfStep(events, spans, span).length}</span>
              )}
            </button>
          ))}
        </div>
        {isOwn && run.session?.parent_id === null && (
          <ForkButton session={session} event={spans.last[span] ?? selection.event} />
        )}
      </div>
      <div
        className="run-reading"
        role="tabpanel"
        id="reading-panel"
        aria-labelledby={`reading-tab-${reading}`}
        tabIndex={0}
      >
        {error !== null && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        {isLoading && <p className="run-note muted">{generalWords.loading}</p>}
        {!isLoading && reading === 'chat' && (
          <ReadingChat
            events={events}
            session={session}
            spans={spans}
            span={span}
            isForkable={isOwn && run.session?.parent_id === null}
            onEvent={onEvent}
          />
        )}
        {!isLoading && reading === 'events' && (
          <ReadingEvents
            events={events}
            spans={spans}
            span={span}
            chosen={selection.event}
            onEvent={onEvent}
          />
        )}
        {!isLoading && reading === 'details' && (
          <ReadingDetails run={run} events={events} session={session} onEvent={onEvent} />
        )}
      </div>
    </>
  )
}

const moveReading = (reading: Reading, onReading: (reading: Reading) => void) => (event: KeyboardEvent) => {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
  event.preventDefault()
  event.stopPropagation()
  const by = event.key === 'ArrowRight' ? 1 : READINGS.length - 1
  const next = READINGS[(READINGS.indexOf(reading) + by) % READINGS.length] ?? reading
  onReading(next)
  document.getElementById(`reading-tab-${next}`)?.focus()
}

function PaneHead({
  run,
  range,
  onClose,
  onStep,
}: Pick<Props, 'run' | 'onClose' | 'onStep'> & { range: EventRange }) {
  const { span, axis, now } = run
  const spans = run.source.tables.get(range.session)
  if (spans === undefined) return null
  const row = { key: '', session: range.session, span, last: span, count: 1, level: 0, isOpen: null }
  const turn = turnOf(spans, span)
  const text = textOfRow(spans, row, turn === -1 ? 0 : turnNumber(spans, turn))
  const from = spans.from[span] ?? 0
  const to = Number.isNaN(spans.to[span]) ? now : (spans.to[span] ?? now)
  const worker = spans.facts.get(span)?.session_id
  return (
    <header className="run-pane-head">
      <h2>
        <RowIconView name={text.icon} />
        <span>{text.verb}</span>
        <span className="run-object truncate" data-code={text.isCode || undefined} dir="auto">
          <ExactText text={text.object} />
        </span>
        {chipsOf(spans, row).map(chip => (
          <ChipView key={chip.text} chip={chip} />
        ))}
        <span className="run-pane-keys">
          <StepButton word={runWords.previous} onPress={() => onStep(-1)} isUp />
          <StepButton word={runWords.next} onPress={() => onStep(1)} />
          <button
            type="button"
            className="button quiet square small"
            aria-label={runWords.hideReading}
            title={runWords.hideReading}
            onClick={onClose}
            data-testid="close-reading"
          >
            <CloseIcon />
          </button>
        </span>
      </h2>
      <p className="run-pane-facts numeric">
        <span>{runWords.at(formatElapsed(Math.max(0, from - axis.from)))}</span>
        <span>{hasFlag(spans, span, 'ended') || to < from ? '' : formatDuration(to - from)}</span>
        {turn !== -1 && turn !== span && <span>{runWords.turn(turnNumber(spans, turn))}</span>}
        <Link
          className="json-link"
          to="/sessions/$sessionId/events"
          params={{ sessionId: range.session }}
          search={{ id: spans.event[span] ?? 1 }}
          data-testid="step-events"
        >
          {runWords.eventRange(spans.event[span] ?? 0, spans.last[span] ?? 0)}
        </Link>
        {worker !== undefined && (
          <Link className="json-link" to="/sessions/$sessionId/run" params={{ sessionId: worker }}>
            {runWords.openWorker}
          </Link>
        )}
      </p>
    </header>
  )
}

const StepButton = ({
  word,
  onPress,
  isUp = false,
}: {
  word: string
  onPress: () => void
  isUp?: boolean
}) => (
  <button
    type="button"
    className="button quiet square small"
    aria-label={word}
    title={word}
    onClick={onPress}
    data-direction={isUp ? 'up' : 'down'}
  >
    <ChevronIcon />
  </button>
)

function ForkButton({ session, event }: { session: string; event: number }) {
  const fork = useFork(session)
  return (
    <button
      type="button"
      className="button quiet small"
      disabled={fork.isPending}
      onClick={() => fork.mutate({ event_id: event }, { onError: sayError })}
      data-testid="fork-step"
    >
      <ForkIcon />
      {runWords.fork}
    </button>
  )
}

const MIN_PX = 320
const MAX_PX = 880
const STEP_PX = 32

/** The edge of the pane, which changes its width. */
export function PaneEdge({ width, onWidth }: { width: number; onWidth: (px: number) => void }) {
  const start = useRef<{ x: number; width: number } | null>(null)
  const set = (px: number) => onWidth(Math.min(MAX_PX, Math.max(MIN_PX, px)))
  return (
    <div
      className="run-pane-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={runWords.resize}
      aria-valuemin={MIN_PX}
      aria-valuemax={MAX_PX}
      aria-valuenow={width}
      tabIndex={0}
      onPointerDown={(event: PointerEvent<HTMLDivElement>) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = { x: event.clientX, width }
      }}
      onPointerMove={event => {
        if (start.current !== null) set(start.current.width + start.current.x - event.clientX)
      }}
      onPointerUp={() => {
        start.current = null
      }}
      onKeyDown={event => {
        if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
        event.preventDefault()
        event.stopPropagation()
        set(width + (event.key === 'ArrowLeft' ? STEP_PX : -STEP_PX))
      }}
      data-testid="pane-edge"
    />
  )
}

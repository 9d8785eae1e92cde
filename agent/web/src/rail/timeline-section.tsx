/** The waterfall of a turn. A click on a bar opens the event that starts it. */
import { useState } from 'react'
import { formatDuration } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { useNow } from '../ui/use-now.ts'
import { indexOfId } from '../events/event-index.ts'
import type { TurnSums } from '../events/turn-sums.ts'
import { type Span, spansOf } from './timeline.ts'
import { TurnPicker } from './turn-picker.tsx'
import { railWords } from '../words/rail.ts'

const WORDS = railWords.spans

type Props = { log: FollowedSession; onEvent: (id: number) => void }

export function TimelineSection({ log, onEvent }: Props) {
  const { turns } = log.index
  const [picked, setPicked] = useState<number | null>(null)
  const turn = turns.find(({ number }) => number === picked) ?? turns.at(-1)
  if (turn === undefined) return <p className="rail-empty muted">{railWords.noTurn}</p>
  return (
    <>
      <TurnPicker turns={turns} value={turn.number} onChange={setPicked} />
      <Waterfall key={turn.number} log={log} turn={turn} onEvent={onEvent} />
    </>
  )
}

function Waterfall({ log, turn, onEvent }: Props & { turn: TurnSums }) {
  const now = useNow(1000)
  const { events } = log.index
  const spans = spansOf(events.slice(turn.startIndex, indexOfId(events, turn.lastId) + 1))
  const from = turn.startedAt
  const isOpen = turn.ending === null
  const to = Math.max(isOpen ? now : turn.endedAt, ...spans.map(({ to }) => to ?? 0), from + 1)
  return (
    <>
      <p className="faint numeric">
        {isOpen
          ? railWords.totalSoFar(formatDuration(to - from))
          : railWords.total(formatDuration(to - from))}
      </p>
      {spans.length === 0 ? (
        <p className="rail-empty muted">{railWords.noSpans}</p>
      ) : (
        <ol className="waterfall" data-testid="waterfall">
          {spans.map(span => (
            <Bar key={span.eventId} span={span} from={from} to={to} isOpen={isOpen} onEvent={onEvent} />
          ))}
        </ol>
      )}
    </>
  )
}

type BarProps = {
  span: Span
  from: number
  to: number
  isOpen: boolean
  onEvent: (id: number) => void
}

function Bar({ span, from, to, isOpen, onEvent }: BarProps) {
  const end = span.to ?? (isOpen ? to : span.from)
  const share = (ms: number) => `${Math.max(0, Math.min(100, (ms / (to - from)) * 100))}%`
  const first = span.firstAt === null ? null : span.firstAt - span.from
  const words = [
    formatDuration(end - span.from),
    first !== null && railWords.firstToken(formatDuration(first)),
    span.failed && railWords.failed,
    span.to === null && (isOpen ? railWords.running : railWords.noEnd),
  ].filter(word => word !== false)
  return (
    <li>
      <button
        type="button"
        className="span"
        data-kind={span.kind}
        data-failed={span.failed || undefined}
        onClick={() => onEvent(span.eventId)}
        data-testid="span"
      >
        <span className="span-name truncate">
          <span className="visually-hidden">{WORDS[span.kind]} </span>
          <ExactText text={span.name} />
        </span>
        <span className="span-track" aria-hidden="true">
          <span className="span-bar" style={{ left: share(span.from - from), width: share(end - span.from) }}>
            {first !== null && end > span.from && (
              <span className="span-first" style={{ width: `${(first / (end - span.from)) * 100}%` }} />
            )}
          </span>
        </span>
        <span className="span-words faint numeric">{words.join(' · ')}</span>
      </button>
    </li>
  )
}

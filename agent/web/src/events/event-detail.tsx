/** The panel beside the grid with all details of one row. */
import { Button } from 'react-aria-components'
import type { SessionEvent } from '@cairn/protocol'
import { formatCount, formatDuration, formatSpent } from '../format.ts'
import { CloseIcon } from '../ui/icons.tsx'
import { CopyIcon } from '../ui/page-icons.tsx'
import { type EventIndex, EVENT, GAP, type RowKey, gapBefore, indexOfKey, kindOfKey } from './event-index.ts'
import { EventFacts } from './event-facts.tsx'
import { familyOfAny } from './filter.ts'
import { JsonView } from './json-view.tsx'
import type { TurnSums } from './turn-sums.ts'
import { eventsWords } from '../words/events.ts'

type Props = {
  index: EventIndex
  rowKey: RowKey
  onClose: () => void
  onJump: (id: number) => void
  onCopy: (event: SessionEvent) => void
  onRelated: (text: string) => void
}

export function EventDetail({ index, rowKey, onClose, onJump, onCopy, onRelated }: Props) {
  const at = indexOfKey(rowKey)
  const event = index.events[at]
  const kind = kindOfKey(rowKey)
  const turn = index.turnAt(at)
  if (!event) return null
  return (
    <aside
      className="event-detail"
      aria-label={eventsWords.detail}
      data-testid="event-detail"
      data-family={kind === EVENT ? familyOfAny(event.type) : undefined}
    >
      <header className="detail-head">
        <h2>
          {kind === EVENT ? (
            <>
              <span className="detail-type">{event.type}</span>
              <span className="faint numeric">{event.id}</span>
            </>
          ) : kind === GAP ? (
            eventsWords.removedEvents
          ) : (
            eventsWords.turn(turn?.number ?? '')
          )}
        </h2>
        {kind === EVENT && (
          <Button className="button quiet" onPress={() => onCopy(event)} data-testid="copy-json">
            <CopyIcon />
            {eventsWords.copyJson}
          </Button>
        )}
        <Button
          className="button quiet square"
          aria-label={eventsWords.closeDetail}
          onPress={onClose}
          data-testid="close-detail"
        >
          <CloseIcon />
        </Button>
      </header>
      <div className="detail-body">
        {kind === EVENT && (
          <EventFacts
            event={event}
            before={index.events[at - 1]}
            turn={turn}
            onJump={onJump}
            onRelated={onRelated}
          />
        )}
        {kind === EVENT && <JsonView key={event.id} value={event.data} onJump={onJump} />}
        {kind === GAP && <GapFacts index={index} at={at} />}
        {kind !== EVENT && kind !== GAP && turn && <TurnFacts turn={turn} onJump={onJump} />}
      </div>
    </aside>
  )
}

function GapFacts({ index, at }: { index: EventIndex; at: number }) {
  const gap = gapBefore(index.events, at)
  if (!gap) return null
  return (
    <p className="detail-when">{eventsWords.removedText(formatCount(gap.from), formatCount(gap.through))}</p>
  )
}

function TurnFacts({ turn, onJump }: { turn: TurnSums; onJump: (id: number) => void }) {
  const facts: [string, string][] = [
    [
      eventsWords.turnFacts.ended,
      turn.ending === null ? eventsWords.turnFacts.notEnded : turn.ending.replaceAll('_', ' '),
    ],
    [eventsWords.turnFacts.duration, formatDuration(turn.endedAt - turn.startedAt)],
    [eventsWords.turnFacts.events, formatCount(turn.events)],
    [eventsWords.turnFacts.wakes, formatCount(turn.wakes)],
    [eventsWords.turnFacts.modelCalls, formatCount(turn.llmCalls)],
    [eventsWords.turnFacts.toolCalls, toolCalls(turn)],
    [
      eventsWords.turnFacts.input,
      eventsWords.turnFacts.cached(formatCount(turn.inputTokens), formatCount(turn.cacheReadTokens)),
    ],
    [
      eventsWords.turnFacts.output,
      eventsWords.turnFacts.reasoning(formatCount(turn.outputTokens), formatCount(turn.reasoningTokens)),
    ],
    [
      eventsWords.turnFacts.cost,
      turn.unpriced
        ? eventsWords.turnFacts.unpriced(formatSpent(turn.costUsd, true))
        : formatSpent(turn.costUsd, false),
    ],
    [eventsWords.turnFacts.crashes, String(turn.crashes)],
    [eventsWords.turnFacts.recoveries, String(turn.recoveries)],
  ]
  return (
    <>
      <p className="detail-when">{eventsWords.turnFacts.about}</p>
      <dl className="facts numeric">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>{eventsWords.range}</dt>
          <dd>
            <button type="button" className="json-link" onClick={() => onJump(turn.startId)}>
              {formatCount(turn.startId)}
            </button>{' '}
            {eventsWords.turnFacts.to}{' '}
            <button type="button" className="json-link" onClick={() => onJump(turn.lastId)}>
              {formatCount(turn.lastId)}
            </button>
          </dd>
        </div>
      </dl>
    </>
  )
}

const toolCalls = ({ toolCalls: calls, toolErrors, toolsHeld }: TurnSums): string =>
  [
    formatCount(calls),
    ...(toolErrors > 0 ? [eventsWords.failedOrRefused(toolErrors)] : []),
    ...(toolsHeld > 0 ? [eventsWords.heldForApproval(toolsHeld)] : []),
  ].join(', ')

/** Beside the grid: everything one row stands for. */
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
      aria-label="Detail"
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
            'Pruned events'
          ) : (
            `Turn ${turn?.number ?? ''}`
          )}
        </h2>
        {kind === EVENT && (
          <Button className="button quiet" onPress={() => onCopy(event)} data-testid="copy-json">
            <CopyIcon />
            Copy JSON
          </Button>
        )}
        <Button
          className="button quiet square"
          aria-label="Close the detail"
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
    <p className="detail-when">
      Ids {formatCount(gap.from)} to {formatCount(gap.through)} held chunks of a streamed answer (llm.delta).
      They are removed some time after their llm.response has landed, which holds the same text; no other type
      is ever removed.
    </p>
  )
}

function TurnFacts({ turn, onJump }: { turn: TurnSums; onJump: (id: number) => void }) {
  const facts: [string, string][] = [
    ['Ended', turn.ending === null ? 'not yet' : turn.ending.replaceAll('_', ' ')],
    ['Duration', formatDuration(turn.endedAt - turn.startedAt)],
    ['Events', formatCount(turn.events)],
    ['Wakes', formatCount(turn.wakes)],
    ['Model calls', formatCount(turn.llmCalls)],
    ['Tool calls', toolCalls(turn)],
    [
      'Tokens in',
      `${formatCount(turn.inputTokens)}, ${formatCount(turn.cacheReadTokens)} of them from the cache`,
    ],
    [
      'Tokens out',
      `${formatCount(turn.outputTokens)}, ${formatCount(turn.reasoningTokens)} of them reasoning`,
    ],
    [
      'Cost',
      `${formatSpent(turn.costUsd, turn.unpriced)}${turn.unpriced ? ': some calls have no known rate' : ''}`,
    ],
    ['Crashes', String(turn.crashes)],
    ['Recoveries', String(turn.recoveries)],
  ]
  return (
    <>
      <p className="detail-when">
        From what began it to the end of the work. The sums are of the events in it.
      </p>
      <dl className="facts numeric">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>From</dt>
          <dd>
            <button type="button" className="json-link" onClick={() => onJump(turn.startId)}>
              {formatCount(turn.startId)}
            </button>{' '}
            to{' '}
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
    ...(toolErrors > 0 ? [`${toolErrors} failed or refused`] : []),
    ...(toolsHeld > 0 ? [`${toolsHeld} held for approval`] : []),
  ].join(', ')

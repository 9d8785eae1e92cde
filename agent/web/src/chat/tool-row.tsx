/**
 * One tool call as a row: what it does and its result; opened, the view of its tool. The page of a share link
 * uses it too, so it must not call the API.
 */
import { memo, type ReactNode, useMemo, useState } from 'react'
import { isHeld as isHeldCall } from '@cairn/protocol'
import { formatCount, formatDuration } from '../format.ts'
import { ToolBody } from '../tools/tool-body.tsx'
import { readCall } from '../tools/tool-call.ts'
import { ToolIcon } from '../tools/tool-icon.tsx'
import { type Chip, toolLine, type ToolLine } from '../tools/tool-line.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { Status } from '../ui/status.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { useNow } from '../ui/use-now.ts'
import type { ItemOf } from './chat-item.ts'
import './tool-row.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'
import { toolsWords } from '../words/tools.ts'

type Props = {
  item: ItemOf<'tool'>
  /** Opens an event in the EVENTS tab; absent on a page without that tab. */
  onEvent?: ((id: number) => void) | undefined
  isOpenAtFirst?: boolean
}

export const ToolRow = memo(function ToolRow({ item, onEvent, isOpenAtFirst = false }: Props) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const call = useMemo(
    () => readCall(item.name, item.arguments, item.content),
    [item.name, item.arguments, item.content],
  )
  const line = useMemo(() => toolLine(call), [call])
  const isHeld = item.content !== null && isHeldCall(item.content)
  return (
    <details
      className="tool"
      data-testid="tool-card"
      data-tool={item.name}
      data-status={item.status}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <ToolIcon name={line.icon} />
        <span className="tool-verb">
          <ExactText text={line.verb} />
          <span className="visually-hidden"> ({item.name})</span>
        </span>
        <span className="tool-object truncate" dir="ltr">
          <ExactText text={line.object} />
        </span>
        {!isHeld && line.error !== null && (
          <span className="tool-error truncate">
            <ExactText text={line.error} />
          </span>
        )}
        <Result item={item} line={line} isHeld={isHeld} />
      </summary>
      {isOpen && (
        <div className="tool-body">
          <ToolBody call={call} onEvent={onEvent} />
          <p className="tool-event faint">
            <TimeOf at={item.created_at} />
            {onEvent !== undefined && (
              <>
                {' · '}
                <button type="button" className="json-link" onClick={() => onEvent(item.event_id)}>
                  {generalWords.event(item.event_id)}
                </button>
              </>
            )}
          </p>
        </div>
      )}
    </details>
  )
})

/** Shorter calls show no duration. */
const MIN_SHOWN_MS = 1000

function Result({ item, line, isHeld }: { item: Props['item']; line: ToolLine; isHeld: boolean }) {
  const { status, elapsed_ms: elapsed } = item
  return (
    <span className="tool-result">
      {line.server !== undefined && <ChipView chip={{ tone: 'quiet', text: line.server }} />}
      {isHeld ? (
        <Status kind="waiting" word={chatWords.needsApproval} />
      ) : status === 'done' || status === 'failed' ? (
        <>
          {line.note !== undefined && <span className="faint">{line.note}</span>}
          {line.change !== undefined && <ChangeView change={line.change} />}
          {line.chips.map(chip => (
            <ChipView key={chip.text} chip={chip} />
          ))}
          <span className="visually-hidden">{chatWords.toolState[status]}</span>
          {elapsed !== null && elapsed >= MIN_SHOWN_MS && (
            <span className="faint">{formatDuration(elapsed)}</span>
          )}
        </>
      ) : (
        <>
          <Status kind={KINDS[status]} word={chatWords.toolState[status]} />
          {status === 'running' && <Elapsed since={item.created_at} />}
        </>
      )}
    </span>
  )
}

const KINDS = { asked: 'idle', running: 'running', waiting: 'waiting', refused: 'failed' } as const

export const ChipView = ({ chip: { tone, text } }: { chip: Chip }): ReactNode => (
  <span className="chip" data-tone={tone}>
    {text}
  </span>
)

export const ChangeView = ({ change: { added, removed } }: { change: NonNullable<ToolLine['change']> }) => (
  <span className="change">
    <span data-tone="good">{toolsWords.added(formatCount(added))}</span>{' '}
    <span data-tone="bad">{toolsWords.removed(formatCount(removed))}</span>
  </span>
)

function Elapsed({ since }: { since: string }) {
  const now = useNow(1000)
  const ms = now - Date.parse(since)
  return ms > 1500 ? <span className="faint">{formatDuration(Math.floor(ms / 1000) * 1000)}</span> : null
}

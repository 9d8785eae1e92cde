/**
 * One tool call: collapsed it shows a summary and the status, expanded the view of its tool. The page of a
 * share link uses it too, so it must not call the API.
 */
import { memo, useMemo, useState } from 'react'
import { isHeld as isHeldCall, toolError } from '@cairn/protocol'
import { formatDuration, oneLine } from '../format.ts'
import { ToolBody } from '../tools/tool-body.tsx'
import { readCall } from '../tools/tool-call.ts'
import { toolLine } from '../tools/tool-line.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { useNow } from '../ui/use-now.ts'
import type { ItemOf } from './chat-item.ts'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const WORDS = chatWords.toolState

export const ToolCard = memo(function ToolCard({
  item,
  onEvent,
}: {
  item: ItemOf<'tool'>
  /** Opens an event in the EVENTS tab; absent on a page without that tab. */
  onEvent?: (id: number) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const call = useMemo(
    () => readCall(item.name, item.arguments, item.content),
    [item.name, item.arguments, item.content],
  )
  const { verb, object, note } = toolLine(call)
  // The approval card shows the rest.
  const isHeld = item.content !== null && isHeldCall(item.content)
  const error = item.content === null || isHeld ? null : toolError(item.content)
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
        <span className="tool-name">
          <ExactText text={verb} />
          {verb !== item.name && <span className="visually-hidden"> ({item.name})</span>}
        </span>
        <span className="tool-args truncate" dir="ltr">
          <ExactText text={object} />
          {note !== undefined && <span className="tool-note">{note}</span>}
        </span>
        <span className="tool-status" data-status={isHeld ? 'waiting' : item.status}>
          {isHeld ? chatWords.needsApproval : WORDS[item.status]}
          {(item.status === 'done' || item.status === 'failed') &&
            item.elapsed_ms !== null &&
            ` · ${formatDuration(item.elapsed_ms)}`}
          {item.status === 'running' && <Elapsed since={item.created_at} />}
        </span>
        {error !== null && <span className="tool-error truncate">{oneLine(error, 200)}</span>}
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

function Elapsed({ since }: { since: string }) {
  const now = useNow(1000)
  const ms = now - Date.parse(since)
  return ms > 1500 ? <> · {formatDuration(Math.floor(ms / 1000) * 1000)}</> : null
}

/** One tool call: closed it says what was done and how it went, open it shows arguments and result. */
import { memo, useState } from 'react'
import { formatDuration, oneLine } from '../format.ts'
import { JsonView } from '../events/json-view.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { toolError } from '@cairn/protocol'
import { ChevronIcon } from '../ui/icons.tsx'
import { useNow } from '../ui/use-now.ts'
import type { ItemOf } from './chat-item.ts'

const WORDS = {
  asked: 'queued',
  running: 'running',
  waiting: 'waiting for you',
  done: 'done',
  failed: 'failed',
  refused: 'refused',
} as const

export const ToolCard = memo(function ToolCard({
  item,
  onEvent,
}: {
  item: ItemOf<'tool'>
  onEvent: (id: number) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const args = typeof item.arguments === 'string' ? parseArguments(item.arguments) : item.arguments
  // The marker the model gets for a call that a person may still allow (contract 14.6); the approval's
  // card says the rest.
  const isHeld = item.status === 'refused' && item.content?.includes('policy_blocked_overridable') === true
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
        <span className="tool-name">{item.name}</span>
        <span className="tool-args truncate">{excerpt(args)}</span>
        <span className="tool-status" data-status={isHeld ? 'waiting' : item.status}>
          {isHeld ? 'held for approval' : WORDS[item.status]}
          {(item.status === 'done' || item.status === 'failed') &&
            item.elapsed_ms !== null &&
            ` · ${formatDuration(item.elapsed_ms)}`}
          {item.status === 'running' && <Elapsed since={item.created_at} />}
        </span>
        {error !== null && <span className="tool-error truncate">{oneLine(error, 200)}</span>}
      </summary>
      {isOpen && (
        <div className="tool-body">
          <h4>Arguments</h4>
          <JsonView value={args} onJump={onEvent} />
          {item.content !== null && (
            <>
              <h4>Result</h4>
              <Result content={item.content} onEvent={onEvent} />
            </>
          )}
          <button type="button" className="json-link tool-event" onClick={() => onEvent(item.event_id)}>
            event {item.event_id}
          </button>
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

function Result({ content, onEvent }: { content: string; onEvent: (id: number) => void }) {
  return /^\s*[[{]/.test(content) ? (
    <JsonView value={content} onJump={onEvent} />
  ) : (
    <pre className="tool-text">
      <ExactText text={content} />
    </pre>
  )
}

/** The first few arguments, for the closed card. */
function excerpt(args: unknown): string {
  if (typeof args !== 'object' || args === null) return oneLine(String(args), 140)
  return oneLine(
    Object.values(args)
      .map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
      .join('  '),
    140,
  )
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A model may write arguments that are no JSON; then they are shown as it wrote them.
    return text
  }
}

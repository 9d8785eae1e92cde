/** Neighbouring calls of one kind in one row, with the sum of their results; opened, each has its own row. */
import { memo, useMemo, useState } from 'react'
import type { ToolGroup as Group } from '@cairn/state'
import { formatDuration } from '../format.ts'
import { readCall } from '../tools/tool-call.ts'
import { ToolIcon } from '../tools/tool-icon.tsx'
import { sumOfChanges, sumOfChips, toolLine } from '../tools/tool-line.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { Status } from '../ui/status.tsx'
import type { ItemOf } from './chat-item.ts'
import { ChangeView, ChipView, ToolRow } from './tool-row.tsx'
import { chatWords } from '../words/chat.ts'
import { toolsWords } from '../words/tools.ts'

type Props = {
  group: Group
  calls: readonly ItemOf<'tool'>[]
  onEvent?: ((id: number) => void) | undefined
}

/** Rows drawn at first in an open group. */
const FIRST = 20
/** Objects named in the closed row. */
const NAMED = 3

export const ToolGroup = memo(function ToolGroup({ group, calls, onEvent }: Props) {
  const [isOpen, setOpen] = useState(false)
  const [isWhole, setWhole] = useState(false)
  const lines = useMemo(
    () => calls.map(({ name, arguments: args, content }) => toolLine(readCall(name, args, content))),
    [calls],
  )
  const objects = [...new Set(lines.map(({ object }) => object))]
  const count = group.counts === 'objects' ? objects.length : calls.length
  const change = sumOfChanges(lines)
  const isRunning = calls.some(({ status }) => status === 'running' || status === 'asked')
  const took = calls.reduce((sum, { elapsed_ms: ms }) => sum + (ms ?? 0), 0)
  const shown = isWhole ? calls : calls.slice(0, FIRST)
  return (
    <details
      className="tool tool-group"
      data-testid="tool-group"
      open={isOpen}
      onToggle={event => {
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open)
      }}
    >
      <summary>
        <ChevronIcon />
        <ToolIcon name={lines[0]?.icon ?? 'spark'} />
        <span className="tool-verb">{group.title(count)}</span>
        <span className="tool-object truncate" dir="ltr">
          <ExactText text={objects.slice(0, NAMED).join(', ')} />
        </span>
        <span className="tool-result">
          {change !== undefined && <ChangeView change={change} />}
          {sumOfChips(lines).map(chip => (
            <ChipView key={chip.text} chip={chip} />
          ))}
          {isRunning ? (
            <Status kind="running" word={chatWords.toolState.running} />
          ) : (
            took >= 1000 && <span className="faint">{formatDuration(took)}</span>
          )}
        </span>
      </summary>
      {isOpen && (
        <div className="tool-calls">
          {shown.map(call => (
            <ToolRow key={call.tool_call_id} item={call} onEvent={onEvent} />
          ))}
          {shown.length < calls.length && (
            <button type="button" className="json-link" onClick={() => setWhole(true)}>
              {toolsWords.moreCalls(calls.length - shown.length)}
            </button>
          )}
        </div>
      )}
    </details>
  )
})

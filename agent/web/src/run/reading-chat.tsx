/** The conversation around the selected step, from the components of the chat, with the step in a frame. */
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { SessionEvent } from '@cairn/protocol'
import { type ChatItem, emptySessionView, foldSessionView, kindOf, type Spans } from '@cairn/state'
import { Item } from '../chat/item.tsx'
import { type ChatRow, rowsOf } from '../chat/rows.ts'
import { ToolGroup } from '../chat/tool-group.tsx'
import { ToolRow } from '../chat/tool-row.tsx'
import '../chat/chat.css'
import { runWords } from '../words/run.ts'

/** Rows before and after the step. */
const BEFORE = 4
const AFTER = 6
const NONE: ReadonlySet<string> = new Set()

type Props = {
  events: readonly SessionEvent[]
  session: string
  spans: Spans
  span: number
  /** Whether the session can be forked; a worker cannot. */
  isForkable: boolean
  onEvent: (id: number) => void
}

export function ReadingChat({ events, session, spans, span, isForkable, onEvent }: Props) {
  const view = useMemo(() => foldSessionView(emptySessionView, events), [events])
  const item = itemOfSpan(view.items, spans, span)
  const rows = useMemo(() => rowsOf(view.items, 0, NONE), [view.items])
  const at = item === null ? -1 : rowOfItem(rows, item)
  const event = spans.event[span] ?? 0
  if (item === null || at === -1) return <p className="run-note muted">{runWords.noMessages}</p>
  const shown = (row: ChatRow): ReactNode =>
    row.kind === 'calls' ? (
      <ToolGroup group={row.group} calls={row.calls} onEvent={onEvent} />
    ) : (
      <Item
        item={row.item}
        expert={
          row.item.kind === 'tool'
            ? view.experts.find(one => row.item.kind === 'tool' && one.tool_call_id === row.item.tool_call_id)
            : undefined
        }
        sessionId={session}
        isForkable={isForkable}
        onEvent={onEvent}
      />
    )
  return (
    <div className="run-chat chat-content" data-testid="reading-chat">
      {rows.slice(Math.max(0, at - BEFORE), at).map(row => (
        <div key={row.key}>{shown(row)}</div>
      ))}
      <Framed key={`framed-${event}`}>
        {item.kind === 'tool' ? (
          <ToolRow item={item} onEvent={onEvent} isOpenAtFirst />
        ) : (
          shown(rows[at] as ChatRow)
        )}
      </Framed>
      {rows.slice(at + 1, at + 1 + AFTER).map(row => (
        <div key={row.key}>{shown(row)}</div>
      ))}
    </div>
  )
}

/** The step in a frame, which is in view when it appears. */
function Framed({ children }: { children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Newer browsers return a promise, which is not a clean-up.
    void frame.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <div className="run-framed" ref={frame} data-testid="framed-step">
      {children}
    </div>
  )
}

/** The row that shows an item; a call that another row stands for is after the row before it. */
function rowOfItem(rows: readonly ChatRow[], item: ChatItem): number {
  const exact = rows.findIndex(row =>
    row.kind === 'item' ? row.item === item : item.kind === 'tool' && row.calls.includes(item),
  )
  if (exact !== -1) return exact
  return rows.findLastIndex(row => row.kind === 'item' && row.item.event_id <= item.event_id)
}

const KINDS: Partial<Record<ReturnType<typeof kindOf>, readonly ChatItem['kind'][]>> = {
  turn: ['user', 'history'],
  model: ['answer'],
  worker: ['worker', 'task'],
  wait: ['approval', 'question', 'tool'],
  gap: ['notice'],
  mark: ['notice'],
}

/** The item that shows a step: the one of its kind within its events, else the last before it. */
function itemOfSpan(items: readonly ChatItem[], spans: Spans, span: number): ChatItem | null {
  const from = spans.event[span] ?? 0
  const to = spans.last[span] ?? from
  const kinds = KINDS[kindOf(spans, span)] ?? ['tool']
  const isInside = ({ event_id }: ChatItem): boolean => event_id >= from && event_id <= to
  for (const kind of kinds) {
    const found = items.find(item => item.kind === kind && isInside(item))
    if (found !== undefined) return found
  }
  return items.find(isInside) ?? items.findLast(({ event_id }) => event_id > 0 && event_id <= to) ?? null
}

/** One item of the chat, rendered by its kind. */
import { memo } from 'react'
import type { ChatItem, ExpertRun } from '@cairn/state'
import { ArtifactItem } from '../artifacts/artifact-item.tsx'
import { AnswerItem } from './answer-item.tsx'
import { ApprovalCard } from './approval-card.tsx'
import { BoardItem } from './board-item.tsx'
import type { ItemOf } from './chat-item.ts'
import { ExpertCard } from './expert-card.tsx'
import { HistoryItem } from './history-item.tsx'
import { QuestionCard } from './question-card.tsx'
import { ToolRow } from './tool-row.tsx'
import { UserItem } from './user-item.tsx'
import { TaskItem } from './task-item.tsx'
import { WorkerItem } from './worker-item.tsx'
import './command-reply.css'
import { Markdown } from '../markdown/markdown.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { AlertIcon } from '../ui/icons.tsx'
import { generalWords } from '../words/general.ts'

export const Item = memo(function Item({
  item,
  expert,
  sessionId,
  isForkable,
  onEvent,
}: {
  item: ChatItem
  /** The expert run, if the item is a call of consult_expert. */
  expert: ExpertRun | undefined
  sessionId: string
  /** Whether the session can be forked here; a worker cannot (contract 6.11). */
  isForkable: boolean
  onEvent: (id: number) => void
}) {
  switch (item.kind) {
    case 'user':
      return <UserItem sessionId={sessionId} item={item} isForkable={isForkable} />
    case 'history':
      return <HistoryItem item={item} />
    case 'answer':
      return item.finish_reason === 'command' ? (
        <CommandReply item={item} />
      ) : (
        <AnswerItem sessionId={sessionId} item={item} isForkable={isForkable} />
      )
    case 'tool':
      return expert ? (
        <ExpertCard sessionId={sessionId} run={expert} />
      ) : (
        <ToolRow item={item} onEvent={onEvent} />
      )
    case 'question':
      return <QuestionCard sessionId={sessionId} item={item} />
    case 'approval':
      return <ApprovalCard sessionId={sessionId} item={item} />
    case 'artifact':
      return <ArtifactItem sessionId={sessionId} item={item} />
    case 'notice':
      return <StatusItem item={item} onEvent={onEvent} />
    case 'worker':
      return <WorkerItem item={item} />
    case 'task':
      return <TaskItem sessionId={sessionId} item={item} />
    case 'board':
      return <BoardItem item={item} onEvent={onEvent} />
  }
})

/** The server's reply to a slash command. The agent did not write it, so it cannot be rated. */
const CommandReply = memo(function CommandReply({ item }: { item: ItemOf<'answer'> }) {
  return (
    <div className="command-reply" data-testid="command-reply" data-event={item.event_id} role="status">
      <Markdown text={item.content} />
    </div>
  )
})

/** An event of the session itself: a crash, a recovery, a stop. */
const StatusItem = memo(function StatusItem({
  item,
  onEvent,
}: {
  item: ItemOf<'notice'>
  onEvent: (id: number) => void
}) {
  return (
    <p
      className="notice"
      data-level={item.level}
      data-type={item.type}
      data-testid="notice"
      role={item.level === 'error' ? 'alert' : undefined}
    >
      {item.level !== 'info' && <AlertIcon />}
      <span>
        <ExactText text={item.text} />
      </span>
      <button type="button" className="json-link" onClick={() => onEvent(item.event_id)}>
        {generalWords.event(item.event_id)}
      </button>
    </p>
  )
})

/** The session as a conversation: the messages from its log, the cards, and the composer. */
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { ChatItem, SessionView } from '@cairn/state'
import type { ItemOf } from './chat-item.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { TailIcon, ChevronIcon } from '../ui/page-icons.tsx'
import { Composer } from '../dock/composer.tsx'
import type { Asked } from '../dock/use-composer.ts'
import { StateBar } from '../dock/state-bar.tsx'
import { Conversation } from './conversation.tsx'
import { useStickToEnd } from './use-stick-to-end.ts'
import './chat.css'
import { Status } from '../ui/status.tsx'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'
import { memo } from 'react'
import { ExactText } from '../ui/exact-text.tsx'

type Props = {
  log: FollowedSession
  session: Session | undefined
  onEvent: (id: number) => void
  /** Opens the overview in the rail; null while it is open. */
  onOverview: (() => void) | null
}

export function ChatTab({ log, session, onEvent, onOverview }: Props) {
  const { view } = log
  const { scroller, content, isAtEnd, listeners, toEnd, keepPlace } = useStickToEnd(log.id)
  return (
    <div className="chat">
      <div className="chat-main">
        <div className="chat-scroll" ref={scroller} {...listeners}>
          <Conversation
            log={log}
            session={session}
            content={content}
            onEarlier={keepPlace}
            onEvent={onEvent}
          />
        </div>
        {!isAtEnd && (
          <Button className="button tail-button" onPress={toEnd}>
            <TailIcon />
            {chatWords.newest}
          </Button>
        )}
      </div>
      <div className="chat-foot">
        {view.tasks.block !== null && view.tasks.block.answer === null && <BlockedHere />}
        {onOverview !== null && <PlanPanel plan={view.plan} onOpen={onOverview} />}
        <StateBar session={session} />
        <Composer
          sessionId={log.id}
          isRunning={session?.state === 'running'}
          asked={askedOf(view.items)}
          said={saidIn(view.items)}
          isConnected={log.connection === 'live'}
          isArchived={session?.status === 'archived'}
          hint={session?.state === 'paused' ? chatWords.pausedHint : chatWords.sendHint}
          onSent={toEnd}
        />
      </div>
    </div>
  )
}

/** The open questions. With more than one, a number alone does not select a choice. */
function askedOf(items: readonly ChatItem[]): Asked | null {
  const open = items.filter(isOpenQuestion)
  const [first] = open
  return first === undefined
    ? null
    : { callId: first.tool_call_id, questions: open.flatMap(({ questions }) => questions) }
}

const isOpenQuestion = (item: ChatItem): item is ItemOf<'question'> =>
  item.kind === 'question' && item.responses === null && !item.cancelled

/** What the person wrote, oldest first. */
const saidIn = (items: readonly ChatItem[]): string[] =>
  items.flatMap(item => (item.kind === 'user' && item.synthetic === null ? [item.content] : []))

/** The session works on a task and waits for an answer to its question. */
const BlockedHere = () => (
  <p className="blocked-here" data-testid="blocked-here">
    <Status kind="waiting" word={generalWords.blocked} isPill />
    <span>{chatWords.workerBlocked}</span>
  </p>
)

type PlanPanelProps = { plan: SessionView['plan']; onOpen: () => void }

/** The plan in one line above the composer; the rail shows all of it. */
const PlanPanel = memo(function PlanPanel({ plan, onOpen }: PlanPanelProps) {
  if (plan.length === 0) return null
  const done = plan.filter(todo => todo.status === 'completed').length
  const current = plan.find(todo => todo.status === 'in_progress')
  return (
    <button type="button" className="plan" data-testid="plan" onClick={onOpen}>
      <ChevronIcon />
      <strong>{chatWords.plan}</strong>
      <span className="faint numeric">{chatWords.rounds(done, plan.length)}</span>
      {current && (
        <span className="truncate muted" dir="auto">
          <ExactText text={current.content} />
        </span>
      )}
    </button>
  )
})

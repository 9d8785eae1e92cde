/**
 * The session as a conversation: the fold of its log, newest at the bottom, with what needs an answer in its
 * place.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { ChatItem, ExpertRun } from '@cairn/state'
import { client } from '../api.ts'
import { formatCount } from '../format.ts'
import { refreshSession } from '../queries.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { isInTurn } from '../sessions/session-state.tsx'
import { TailIcon } from '../ui/icons.tsx'
import { ActionCards } from './action-cards.tsx'
import { AnswerItem } from './answer-item.tsx'
import { ApprovalCard } from './approval-card.tsx'
import { ArtifactItem } from '../artifacts/artifact-item.tsx'
import { Cards } from './cards.tsx'
import { itemKey } from './chat-item.ts'
import { CommandReply } from './command-reply.tsx'
import { Composer } from './composer.tsx'
import { DisclosureBanner } from './disclosure-banner.tsx'
import { ExpertCard } from './expert-card.tsx'
import { NoticeItem } from './notice-item.tsx'
import { PlanPanel } from './plan-panel.tsx'
import { QuestionCard } from './question-card.tsx'
import { ToolCard } from './tool-card.tsx'
import { UserItem } from './user-item.tsx'
import { TaskItem, WorkerItem } from './worker-item.tsx'
import './chat.css'

/** A long chat is drawn from its end; more on demand. */
const PAGE = 80
const NEAR_END = 60

export function ChatTab({ log, session }: { log: FollowedSession; session: Session | undefined }) {
  const { view } = log
  const [pages, setPages] = useState(1)
  const [isAtEnd, setAtEnd] = useState(true)
  const navigate = useNavigate()
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const sticks = useRef(true)
  const showEvent = useCallback(
    (id: number) => {
      void navigate({ to: '/sessions/$sessionId/events', params: { sessionId: log.id }, search: { id } })
    },
    [navigate, log.id],
  )

  const stick = useCallback(() => {
    if (sticks.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }, [])
  useLayoutEffect(stick, [stick, log.revision])
  // Artifacts and markdown grow after they were drawn.
  useEffect(() => {
    const observer = new ResizeObserver(stick)
    if (content.current) observer.observe(content.current)
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [stick])
  const scrolled = () => {
    const box = scroller.current
    if (!box) return
    sticks.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END
    setAtEnd(sticks.current)
  }
  const toEnd = () => {
    sticks.current = true
    setAtEnd(true)
    stick()
  }

  const first = Math.max(0, view.items.length - pages * PAGE)
  const last = view.items.at(-1)
  const isRunning = session?.state === 'running'
  const isSilent =
    isRunning &&
    !(last?.kind === 'answer' && last.streaming) &&
    !(last?.kind === 'tool' && last.status === 'running')
  const isReading = view.last_id < (session?.last_event_id ?? 0) && log.connection !== 'failed'
  return (
    <div className="chat">
      <Cards sessionId={log.id} session={session} view={view} onEvent={showEvent} />
      <div className="chat-main">
        <div className="chat-scroll" ref={scroller} onScroll={scrolled}>
          <div
            className="chat-content"
            ref={content}
            role="log"
            aria-label="Conversation"
            aria-busy={isReading || isRunning}
          >
            <DisclosureBanner
              sessionId={log.id}
              isConfirmed={log.index.countByType.has('disclosure.confirmed') || isReading}
            />
            {first > 0 && (
              <Button
                className="button quiet earlier"
                onPress={() => {
                  sticks.current = false
                  setPages(pages + 1)
                }}
              >
                {formatCount(first)} earlier
              </Button>
            )}
            {view.items.length === 0 && (
              <Opening isReading={isReading} isNew={session?.last_event_id === 0} agent={session?.agent} />
            )}
            {view.items.slice(first).map((item, i) => (
              <Item
                key={itemKey(item, first + i)}
                item={item}
                expert={
                  item.kind === 'tool'
                    ? view.experts.find(run => run.tool_call_id === item.tool_call_id)
                    : undefined
                }
                sessionId={log.id}
                onEvent={showEvent}
              />
            ))}
            {session?.waiting_on === 'action' && <ActionCards sessionId={log.id} />}
            {isSilent && (
              <p className="waiting-dots" role="status" aria-label="The agent is at work">
                <i />
                <i />
                <i />
              </p>
            )}
          </div>
        </div>
        {!isAtEnd && (
          <Button className="button tail-button" onPress={toEnd}>
            <TailIcon />
            Newest
          </Button>
        )}
      </div>
      <div className="chat-foot">
        <PlanPanel plan={view.plan} isRunning={session !== undefined && isInTurn(session)} />
        <StateBar session={session} />
        <Composer
          sessionId={log.id}
          isRunning={isRunning}
          asks={view.items.some(isOpenQuestion)}
          isArchived={session?.status === 'archived'}
          hint={
            session?.state === 'paused'
              ? 'Paused: messages are kept and run when you resume.'
              : 'Enter sends, Shift+Enter makes a new line.'
          }
          onSent={toEnd}
        />
      </div>
    </div>
  )
}

const isOpenQuestion = (item: ChatItem): boolean =>
  item.kind === 'question' && item.responses === null && !item.cancelled

const Item = memo(function Item({
  item,
  expert,
  sessionId,
  onEvent,
}: {
  item: ChatItem
  /** What the call of consult_expert is about. */ expert: ExpertRun | undefined
  sessionId: string
  onEvent: (id: number) => void
}) {
  switch (item.kind) {
    case 'user':
      return <UserItem item={item} />
    case 'answer':
      return item.finish_reason === 'command' ? (
        <CommandReply item={item} />
      ) : (
        <AnswerItem sessionId={sessionId} item={item} />
      )
    // The question's own card, and the expert's, say the same and more.
    case 'tool':
      return expert ? (
        <ExpertCard sessionId={sessionId} run={expert} />
      ) : item.name === 'ask_user_question' &&
        item.status !== 'failed' &&
        item.status !== 'refused' ? null : (
        <ToolCard item={item} onEvent={onEvent} />
      )
    case 'question':
      return <QuestionCard sessionId={sessionId} item={item} />
    case 'approval':
      return <ApprovalCard sessionId={sessionId} item={item} />
    case 'artifact':
      return <ArtifactItem sessionId={sessionId} item={item} />
    case 'notice':
      return <NoticeItem item={item} onEvent={onEvent} />
    case 'worker':
      return <WorkerItem item={item} />
    case 'task':
      return <TaskItem item={item} onEvent={onEvent} />
  }
})

function Opening({
  isReading,
  isNew,
  agent,
}: {
  isReading: boolean
  isNew: boolean
  agent: string | undefined
}) {
  if (isReading)
    return (
      <p className="opening muted" role="status">
        Reading the log …
      </p>
    )
  return (
    <div className="opening muted">
      <h2>{isNew && agent !== undefined ? `A new session with ${agent}` : 'Nothing was said here yet'}</h2>
      <p>Say what you would like done. Every step will be in the log.</p>
    </div>
  )
}

/** A failed session can be tried again, a paused one resumed. */
function StateBar({ session }: { session: Session | undefined }) {
  const queries = useQueryClient()
  const move = useMutation({
    mutationFn: ({ route, id }: { route: 'retrySession' | 'resumeSession'; id: string }) =>
      client.call(route, { params: { id } }),
    onSuccess: ({ id }) => refreshSession(queries, id),
  })
  if (session?.state !== 'failed' && session?.state !== 'paused') return null
  const { id, state } = session
  return (
    <div className="state-bar" data-state={state} role="status">
      <span>
        {state === 'failed' ? 'The session failed. What it did so far is kept.' : 'The session is paused.'}
      </span>
      {state === 'failed' ? (
        <Button
          className="button"
          isDisabled={move.isPending}
          onPress={() => move.mutate({ route: 'retrySession', id })}
          data-testid="retry"
        >
          Try again
        </Button>
      ) : (
        <Button
          className="button"
          isDisabled={move.isPending}
          onPress={() => move.mutate({ route: 'resumeSession', id })}
          data-testid="resume"
        >
          Resume
        </Button>
      )}
    </div>
  )
}

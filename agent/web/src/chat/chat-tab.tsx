/** The session as a conversation: the fold of its log, the cards beside it, and where a person writes. */
import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { ChatItem } from '@cairn/state'
import type { FollowedSession } from '../session/followed-session.ts'
import { isInTurn } from '../sessions/session-state.tsx'
import { TailIcon } from '../ui/icons.tsx'
import { Cards } from './cards.tsx'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { PlanPanel } from './plan-panel.tsx'
import { StateBar } from './state-bar.tsx'
import { useStickToEnd } from './use-stick-to-end.ts'
import './chat.css'

export function ChatTab({ log, session }: { log: FollowedSession; session: Session | undefined }) {
  const { view } = log
  const navigate = useNavigate()
  const showEvent = useCallback(
    (id: number) => {
      void navigate({ to: '/sessions/$sessionId/events', params: { sessionId: log.id }, search: { id } })
    },
    [navigate, log.id],
  )
  const { scroller, content, isAtEnd, onScroll, toEnd, letGo } = useStickToEnd(log.revision)
  return (
    <div className="chat">
      <Cards sessionId={log.id} session={session} view={view} onEvent={showEvent} />
      <div className="chat-main">
        <div className="chat-scroll" ref={scroller} onScroll={onScroll}>
          <Conversation log={log} session={session} content={content} onEarlier={letGo} onEvent={showEvent} />
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
          isRunning={session?.state === 'running'}
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

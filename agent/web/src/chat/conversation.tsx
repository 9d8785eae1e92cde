/** The items of the chat, newest at the bottom. */
import { type RefObject, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { ChatItem, SessionView } from '@cairn/state'
import { formatCount } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { Suggestions } from '../dock/suggestions.tsx'
import { ActionCards } from './action-cards.tsx'
import { itemKey } from './chat-item.ts'
import { DisclosureBanner } from './disclosure-banner.tsx'
import { Item } from './item.tsx'
import { chatWords } from '../words/chat.ts'

/** Items drawn at first, from the end of the chat; a button shows more. */
const PAGE = 80
/** How many pages of each session are drawn, kept when the tab changes. */
const drawn = new Map<string, number>()

export function Conversation({
  log,
  session,
  content,
  onEarlier,
  onEvent,
}: {
  log: FollowedSession
  session: Session | undefined
  content: RefObject<HTMLDivElement | null>
  /** Called before earlier items are drawn above. */
  onEarlier: () => void
  onEvent: (id: number) => void
}) {
  const { view } = log
  const [pages, setPages] = useState(() => drawn.get(log.id) ?? 1)
  const first = Math.max(0, view.items.length - pages * PAGE)
  const isRunning = session?.state === 'running'
  const isReading = view.last_id < (session?.last_event_id ?? 0) && log.connection !== 'failed'
  return (
    <div
      className="chat-content"
      data-testid="chat-content"
      ref={content}
      role="log"
      aria-label={chatWords.conversation}
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
            onEarlier()
            drawn.set(log.id, pages + 1)
            setPages(pages + 1)
          }}
        >
          {chatWords.earlier(formatCount(first))}
        </Button>
      )}
      {view.items.length === 0 && (
        <Opening
          sessionId={log.id}
          isReading={isReading}
          isNew={session?.last_event_id === 0}
          agent={session?.agent}
        />
      )}
      {view.items.slice(first).map((item, i) => (
        <Item
          key={itemKey(item, first + i)}
          item={item}
          expert={expertOf(view, item)}
          sessionId={log.id}
          isForkable={session?.parent_id === null}
          onEvent={onEvent}
        />
      ))}
      {session?.waiting_on === 'action' && <ActionCards sessionId={log.id} />}
      {isRunning && isSilent(view) && <WaitingDots />}
    </div>
  )
}

const expertOf = (view: SessionView, item: ChatItem) =>
  item.kind === 'tool' ? view.experts.find(run => run.tool_call_id === item.tool_call_id) : undefined

/** Whether the last item does not itself show that the turn is running. */
function isSilent({ items }: SessionView): boolean {
  const last = items.at(-1)
  return !(last?.kind === 'answer' && last.streaming) && !(last?.kind === 'tool' && last.status === 'running')
}

const WaitingDots = () => (
  <p className="waiting-dots" role="status" aria-label={chatWords.working}>
    <i />
    <i />
    <i />
  </p>
)

function Opening({
  sessionId,
  isReading,
  isNew,
  agent,
}: {
  sessionId: string
  isReading: boolean
  isNew: boolean
  agent: string | undefined
}) {
  if (isReading)
    return (
      <p className="opening muted" role="status">
        {chatWords.readingLog}
      </p>
    )
  return (
    <div className="opening muted">
      <h2>{isNew && agent !== undefined ? chatWords.newSession(agent) : chatWords.noMessages}</h2>
      <p>{chatWords.describeTask}</p>
      {isNew && <Suggestions sessionId={sessionId} />}
    </div>
  )
}

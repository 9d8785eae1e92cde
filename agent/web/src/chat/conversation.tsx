/** The rows of the chat, newest at the bottom. */
import { type RefObject, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { ChatItem, SessionView } from '@cairn/state'
import { formatCount } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { ActionCard, usePendingActions } from './action-cards.tsx'
import { Item } from './item.tsx'
import { rowsOf, statedVerdicts } from './rows.ts'
import { ToolGroup } from './tool-group.tsx'
import { chatWords } from '../words/chat.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { useSendMessage } from '../dock/use-send-message.ts'
import { composerWords } from '../words/composer.ts'

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
  const actions = usePendingActions(log.id, session?.waiting_on === 'action')
  const rows = useMemo(() => {
    const asking = new Set(actions.map(({ payload }) => String(payload['tool_call_id'])))
    return rowsOf(view.items.slice(first), first, asking, statedVerdicts(view.goal, actions))
  }, [view.items, view.goal, first, actions])
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
      {rows.map(row =>
        row.kind === 'calls' ? (
          <ToolGroup key={row.key} group={row.group} calls={row.calls} onEvent={onEvent} />
        ) : (
          <Item
            key={row.key}
            item={row.item}
            expert={expertOf(view, row.item)}
            sessionId={log.id}
            isForkable={session?.parent_id === null}
            onEvent={onEvent}
          />
        ),
      )}
      {actions.map(item => (
        <ActionCard key={item.id} item={item} />
      ))}
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

/** States that the agent is an AI, if the operator enabled it. Accepting it is recorded in the log. */
function DisclosureBanner({ sessionId, isConfirmed }: { sessionId: string; isConfirmed: boolean }) {
  const { data: about } = useQuery(aboutQuery)
  const confirm = useMutation({
    mutationFn: () => client.call('confirmDisclosure', { params: { id: sessionId } }),
  })
  if (!about || about.disclosure.level === 'none' || isConfirmed || confirm.isSuccess) return null
  return (
    <aside className="banner" aria-label={chatWords.aboutAssistant} data-testid="disclosure">
      <p>{about.disclosure.text ?? chatWords.disclosure}</p>
      <Button
        className="button"
        isDisabled={confirm.isPending}
        onPress={() => confirm.mutate()}
        data-testid="confirm-disclosure"
      >
        {chatWords.understand}
      </Button>
    </aside>
  )
}

const DEMO = composerWords.demo
const ANY = composerWords.first

/** Suggested first messages of an empty session. A click sends one unchanged. */
function Suggestions({ sessionId }: { sessionId: string }) {
  const { data: about } = useQuery(aboutQuery)
  const send = useSendMessage(sessionId, () => undefined)
  if (about === undefined) return null
  return (
    <div className="suggestions" role="group" aria-label={composerWords.suggestions}>
      {(about.demo ? DEMO : ANY).map(content => (
        <button
          key={content}
          type="button"
          className="button"
          disabled={send.isPending}
          onClick={() => send.mutate({ content, on_question: 'refuse' })}
          data-testid="suggestion"
        >
          {content}
        </button>
      ))}
    </div>
  )
}

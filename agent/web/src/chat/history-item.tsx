/** The conversation that a fork starts with, as its model reads it. */
import { memo } from 'react'
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import type { ConversationMessage } from '@cairn/state'
import { Markdown } from '../markdown/markdown.tsx'
import type { ItemOf } from './chat-item.ts'
import './history-item.css'
import { chatWords } from '../words/chat.ts'

export const HistoryItem = memo(function HistoryItem({ item }: { item: ItemOf<'history'> }) {
  const { forked_from: from, imported, messages } = item
  return (
    <section className="history" aria-label={chatWords.history} data-testid="history">
      {messages.map((message, at) => (
        // The messages never change their order.
        // eslint-disable-next-line react/no-array-index-key
        <Message key={at} message={message} />
      ))}
      <p className="history-end faint">
        {chatWords.messagesFrom(messages.length)}{' '}
        {imported !== null ? (
          chatWords.importedFrom(imported.format)
        ) : from === null ? (
          chatWords.otherSession
        ) : (
          <Link
            className="json-link"
            to="/sessions/$sessionId/events"
            params={{ sessionId: from.session_id }}
            search={{ id: from.event_id }}
          >
            {chatWords.original}
          </Link>
        )}
      </p>
    </section>
  )
})

function Message({ message }: { message: ConversationMessage }) {
  switch (message.role) {
    case 'user':
      return (
        <article className="user">
          <p dir="auto">{visibleText(message.content)}</p>
        </article>
      )
    case 'assistant':
      return (
        <>
          {message.content !== '' && (
            <article className="answer">
              <Markdown text={message.content} />
            </article>
          )}
          {(message.tool_calls ?? []).map(({ id, function: call }) => (
            <p key={id} className="history-call muted">
              <code>{visibleText(call.name)}</code>
            </p>
          ))}
        </>
      )
    case 'tool':
      return null
  }
}

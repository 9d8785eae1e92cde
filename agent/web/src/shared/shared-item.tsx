/** One item of a shared session; null for kinds that share links do not show. */
import { memo } from 'react'
import { visibleText } from '@cairn/protocol'
import type { ChatItem } from '@cairn/state'
import type { ItemOf } from '../chat/chat-item.ts'
import { HistoryItem } from '../chat/history-item.tsx'
import { ToolRow } from '../chat/tool-row.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { shareWords } from '../words/share.ts'

export const SharedItem = memo(function SharedItem({ item }: { item: ChatItem }) {
  switch (item.kind) {
    case 'user':
      return (
        <article className="user" data-testid="shared-user">
          <p dir="auto">{visibleText(item.content)}</p>
        </article>
      )
    case 'answer':
      return item.content === '' ? null : (
        <article className="answer" data-testid="shared-answer">
          <Markdown text={item.content} />
          <p className="faint">
            <TimeOf at={item.created_at} />
          </p>
        </article>
      )
    case 'tool':
      return <ToolRow item={item} />
    case 'question':
      return <SharedQuestion item={item} />
    case 'history':
      return <HistoryItem item={item} />
    default:
      return null
  }
})

const SharedQuestion = ({ item }: { item: ItemOf<'question'> }) => (
  <dl className="answers shared-question" data-state={item.responses === null ? 'open' : 'answered'}>
    {item.questions.map(({ prompt }) => (
      <div key={prompt}>
        <dt>{visibleText(prompt)}</dt>
        <dd>
          {visibleText(
            item.responses?.find(({ question }) => question === prompt)?.answer ?? shareWords.unanswered,
          )}
        </dd>
      </div>
    ))}
  </dl>
)

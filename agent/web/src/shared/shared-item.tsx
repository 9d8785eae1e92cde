/** One item of a shared session; null where the link shows nothing of its kind. */
import { memo } from 'react'
import { visibleText } from '@cairn/protocol'
import type { ChatItem } from '@cairn/state'
import type { ItemOf } from '../chat/chat-item.ts'
import { HistoryItem } from '../chat/history-item.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { readCall } from '../tools/tool-call.ts'
import { toolLine } from '../tools/tool-line.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { TimeOf } from '../ui/time-of.tsx'

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
      return <SharedTool item={item} />
    case 'question':
      return <SharedQuestion item={item} />
    case 'history':
      return <HistoryItem item={item} />
    default:
      return null
  }
})

function SharedTool({ item }: { item: ItemOf<'tool'> }) {
  const { verb, object } = toolLine(readCall(item.name, item.arguments, item.content))
  const shown = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments, null, 2)
  return (
    <details className="tool" data-testid="shared-tool">
      <summary>
        <ChevronIcon />
        <span className="tool-name">
          <ExactText text={verb} />
        </span>
        <span className="tool-args truncate" dir="ltr">
          <ExactText text={object} />
        </span>
      </summary>
      <div className="tool-body">
        <pre className="excerpt">
          <ExactText text={shown} />
        </pre>
        {item.content !== null && (
          <pre className="excerpt">
            <ExactText text={item.content} />
          </pre>
        )}
      </div>
    </details>
  )
}

const SharedQuestion = ({ item }: { item: ItemOf<'question'> }) => (
  <dl className="card answers" data-state={item.responses === null ? 'open' : 'answered'}>
    {item.questions.map(({ prompt }) => (
      <div key={prompt}>
        <dt>{visibleText(prompt)}</dt>
        <dd>
          {visibleText(
            item.responses?.find(({ question }) => question === prompt)?.answer ?? 'not answered yet',
          )}
        </dd>
      </div>
    ))}
  </dl>
)

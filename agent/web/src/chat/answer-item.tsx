/** The model's reasoning and text of one iteration. The last text of a turn can be rated. */
import { memo } from 'react'
import { formatCost, formatTokens } from '../format.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ChevronIcon, ForkIcon } from '../ui/page-icons.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import type { ItemOf } from './chat-item.ts'
import { Rating } from './rating.tsx'
import { chatWords } from '../words/chat.ts'
import { useFork } from './use-fork.ts'

type Props = { sessionId: string; item: ItemOf<'answer'>; isForkable: boolean }

export const AnswerItem = memo(function AnswerItem({ sessionId, item, isForkable }: Props) {
  const isFinal =
    !item.streaming && item.content !== '' && item.finish_reason !== 'tool_calls' && item.event_id > 0
  return (
    <article
      className="answer"
      data-testid="answer"
      data-streaming={item.streaming || undefined}
      data-final={isFinal || undefined}
      data-event={item.event_id}
    >
      {item.reasoning !== '' && (
        <Thinking text={item.reasoning} isLive={item.streaming && item.content === ''} />
      )}
      {item.streaming && item.content === '' && item.reasoning === '' && (
        <p className="waiting-dots" role="status" aria-label={chatWords.answering}>
          <i />
          <i />
          <i />
        </p>
      )}
      {item.content !== '' && <Markdown text={item.content} />}
      {isFinal && <AnswerFoot sessionId={sessionId} item={item} isForkable={isForkable} />}
    </article>
  )
})

function Thinking({ text, isLive }: { text: string; isLive: boolean }) {
  return (
    <details className="thinking" data-testid="thinking" open={isLive}>
      <summary>
        <ChevronIcon />
        {isLive ? chatWords.thinking : chatWords.thought}
        <span className="thinking-peek truncate">{isLive ? '' : text}</span>
      </summary>
      <p className="thinking-text">{text}</p>
    </details>
  )
}

function AnswerFoot({ sessionId, item, isForkable }: Props) {
  return (
    <footer className="answer-foot">
      <Rating sessionId={sessionId} eventId={item.event_id} rating={item.rating} />
      <CopyButton text={item.content} name={chatWords.copyAnswer} />
      {isForkable && <ForkButton sessionId={sessionId} eventId={item.event_id} />}
      <span className="answer-sums numeric">
        <TimeOf at={item.created_at} />
        {' · '}
        {item.model}
        {item.output_tokens > 0 &&
          ` · ${chatWords.inOut(formatTokens(item.input_tokens), formatTokens(item.output_tokens))}`}
        {item.cost_usd !== null && ` · ${formatCost(item.cost_usd)}`}
      </span>
    </footer>
  )
}

/** Forks the session at this point; the original stays unchanged. */
function ForkButton({ sessionId, eventId }: { sessionId: string; eventId: number }) {
  const fork = useFork(sessionId)
  return (
    <button
      type="button"
      className="button quiet square small"
      aria-label={chatWords.fork}
      title={chatWords.fork}
      disabled={fork.isPending}
      onClick={() => fork.mutate({ event_id: eventId })}
      data-testid="fork"
    >
      <ForkIcon />
    </button>
  )
}

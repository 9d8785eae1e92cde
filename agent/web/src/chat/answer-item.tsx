/** What the model thought and said in one iteration; the last words of a turn can be rated. */
import { useMutation } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { Button, ToggleButton } from 'react-aria-components'
import { client } from '../api.ts'
import { formatCost, formatTokens } from '../format.ts'
import { CheckIcon, ChevronIcon, CopyIcon, DownIcon, UpIcon } from '../ui/icons.tsx'
import { sayError } from '../ui/toasts.tsx'
import type { ItemOf } from './chat-item.ts'
import { Markdown } from '../ui/markdown.tsx'

export const AnswerItem = memo(function AnswerItem({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'answer'>
}) {
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
        <p className="waiting-dots" role="status" aria-label="The model is answering">
          <i />
          <i />
          <i />
        </p>
      )}
      {item.content !== '' && <Markdown text={item.content} />}
      {isFinal && <AnswerFoot sessionId={sessionId} item={item} />}
    </article>
  )
})

function Thinking({ text, isLive }: { text: string; isLive: boolean }) {
  return (
    <details className="thinking" data-testid="thinking" open={isLive}>
      <summary>
        <ChevronIcon />
        {isLive ? 'Thinking …' : 'Thought'}
        <span className="thinking-peek truncate">{isLive ? '' : text}</span>
      </summary>
      <p className="thinking-text">{text}</p>
    </details>
  )
}

function AnswerFoot({ sessionId, item }: { sessionId: string; item: ItemOf<'answer'> }) {
  const [isCopied, setCopied] = useState(false)
  const rate = useMutation({
    mutationFn: (rating: 'up' | 'down') =>
      client.call('giveFeedback', { params: { id: sessionId, event_id: item.event_id }, body: { rating } }),
  })
  const copy = () => {
    navigator.clipboard.writeText(item.content).then(() => setCopied(true), sayError)
    setTimeout(() => setCopied(false), 1600)
  }
  const thumb = (rating: 'up' | 'down', name: string, Icon: typeof UpIcon) => (
    <ToggleButton
      className="button quiet square small"
      aria-label={name}
      data-testid={`feedback-${rating}`}
      isSelected={item.rating === rating}
      isDisabled={rate.isPending}
      onChange={() => {
        if (item.rating !== rating) rate.mutate(rating)
      }}
    >
      <Icon />
    </ToggleButton>
  )
  return (
    <footer className="answer-foot">
      {thumb('up', 'Good answer', UpIcon)}
      {thumb('down', 'Bad answer', DownIcon)}
      <Button className="button quiet square small" aria-label="Copy the answer" onPress={copy}>
        {isCopied ? <CheckIcon /> : <CopyIcon />}
      </Button>
      <span className="answer-sums numeric">
        {item.model}
        {item.output_tokens > 0 &&
          ` · ${formatTokens(item.input_tokens)} in, ${formatTokens(item.output_tokens)} out`}
        {item.cost_usd !== null && ` · ${formatCost(item.cost_usd)}`}
      </span>
    </footer>
  )
}

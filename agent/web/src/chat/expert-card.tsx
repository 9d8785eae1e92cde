/** A consulted expert: its task, its steps, its answer and its cost. The answer can be rated. */
import { useMutation } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { ToggleButton } from 'react-aria-components'
import type { ExpertRun } from '@cairn/state'
import { client } from '../api.ts'
import { formatSpent, formatTokens, oneLine } from '../format.ts'
import { ChevronIcon, DownIcon, LensIcon, UpIcon } from '../ui/page-icons.tsx'
import { Status } from '../ui/status.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import './expert-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const STATUS = { working: 'running', done: 'done', failed: 'failed' } as const
const WORDS = chatWords.expert

export const ExpertCard = memo(function ExpertCard({
  sessionId,
  run,
}: {
  sessionId: string
  run: ExpertRun
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="tool expert"
      data-testid="expert"
      data-status={run.status}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <LensIcon />
        <span className="tool-verb">{run.expert}</span>
        <span className="expert-task truncate">{oneLine(run.task, 140)}</span>
        {run.status === 'failed' && (
          <span className="tool-error truncate">{oneLine(run.outcome ?? '', 200)}</span>
        )}
        <span className="tool-result">
          <Status kind={STATUS[run.status]} word={WORDS[run.status]} />
        </span>
      </summary>
      {isOpen && <Work run={run} />}
      {run.status !== 'working' && (
        <footer className="expert-foot">
          <Rating sessionId={sessionId} run={run} />
          <span className="faint numeric" data-testid="expert-sums">
            {chatWords.expertSums(run.iterations_used, run.max_iterations)} ·{' '}
            {generalWords.tokenCount(formatTokens(run.tokens))} · {formatSpent(run.cost_usd, run.unpriced)}
          </span>
        </footer>
      )}
    </details>
  )
})

const Work = ({ run }: { run: ExpertRun }) => (
  <div className="tool-body">
    <h4>{chatWords.task}</h4>
    <p className="expert-text">{run.task}</p>
    {run.trace.length > 0 && (
      <>
        <h4>{chatWords.steps}</h4>
        <ul className="expert-trace">
          {run.trace.map((call, index) => (
            <li key={index} data-ok={call.ok}>
              <code>{call.name}</code>
              {call.error !== undefined && <span> {call.error}</span>}
            </li>
          ))}
        </ul>
      </>
    )}
    {run.outcome !== null && (
      <>
        <h4>{run.status === 'failed' ? chatWords.error : generalWords.answer}</h4>
        {run.status === 'failed' ? (
          <p className="expert-text">{run.outcome}</p>
        ) : (
          <Markdown text={run.outcome} />
        )}
      </>
    )}
  </div>
)

function Rating({ sessionId, run }: { sessionId: string; run: ExpertRun }) {
  const rate = useMutation({
    mutationFn: ({ id, rating }: { id: number; rating: 'up' | 'down' }) =>
      client.call('giveFeedback', { params: { id: sessionId, event_id: id }, body: { rating } }),
  })
  const { result_id: id } = run
  if (id === null) return null
  const thumb = (rating: 'up' | 'down', name: string, Icon: typeof UpIcon) => (
    <ToggleButton
      className="button quiet square small"
      aria-label={name}
      data-testid={`expert-${rating}`}
      isSelected={run.rating === rating}
      isDisabled={rate.isPending}
      onChange={() => {
        if (run.rating !== rating) rate.mutate({ id, rating })
      }}
    >
      <Icon />
    </ToggleButton>
  )
  return (
    <>
      {thumb('up', chatWords.goodAnswer, UpIcon)}
      {thumb('down', chatWords.badAnswer, DownIcon)}
    </>
  )
}

/**
 * A worker, where the session started it: its goal, state and result. A model wrote these texts, so they are
 * shown as plain text with hidden characters made visible.
 */
import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import { visibleText } from '@cairn/protocol'
import type { WorkerItem as Worker, WorkerOutcome } from '@cairn/state'
import { formatCost, formatDuration, formatTokens, oneLine } from '../format.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon, WorkerIcon } from '../ui/page-icons.tsx'
import { Status } from '../ui/status.tsx'
import { useNow } from '../ui/use-now.ts'
import { causeWord } from '../workers/worker-words.ts'
import './worker-item.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const ROLES = chatWords.roles
const STATUS = { open: 'running', complete: 'done', failed: 'failed' } as const

export const WorkerItem = memo(function WorkerItem({ item }: { item: Worker }) {
  const [isOpen, setOpen] = useState(false)
  const { outcome } = item
  return (
    <details
      className="tool worker"
      data-testid="worker-card"
      data-worker-id={item.worker_id}
      data-status={item.status}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <WorkerIcon />
        <span className="tool-verb">{ROLES[item.role]}</span>
        <span className="worker-goal truncate">{oneLine(visibleText(item.goal), 140)}</span>
        {outcome !== null && outcome.cause !== null && (
          <span className="tool-error truncate">{oneLine(visibleText(outcome.text), 200)}</span>
        )}
        <span className="tool-result">
          <Status
            kind={STATUS[item.status]}
            word={
              outcome === null
                ? chatWords.taskState.running
                : outcome.cause === null
                  ? chatWords.taskState.done
                  : causeWord(outcome.cause)
            }
          />
          {outcome === null && <Elapsed since={item.created_at} />}
        </span>
      </summary>
      {isOpen && <WorkerBody item={item} />}
      <footer className="worker-foot">
        <Link
          className="json-link"
          to="/sessions/$sessionId"
          params={{ sessionId: item.worker_id }}
          data-testid="worker-link"
        >
          {chatWords.openSession}
        </Link>
        <span className="faint numeric">{sumsOf(item)}</span>
      </footer>
    </details>
  )
})

function sumsOf({ agent, outcome, timeout_seconds, idle_seconds }: Worker): string {
  const facts = [agent]
  if (outcome === null) {
    if (timeout_seconds !== null) facts.push(chatWords.waitedMax(formatDuration(timeout_seconds * 1000)))
    if (idle_seconds !== null) facts.push(chatWords.idle(formatDuration(idle_seconds * 1000)))
  } else {
    facts.push(
      formatDuration(outcome.duration_seconds * 1000),
      generalWords.steps(outcome.iterations),
      generalWords.tokenCount(formatTokens(outcome.tokens)),
      ...costOf(outcome),
    )
  }
  return facts.join(' · ')
}

/** Empty at zero: the outcome does not show whether all calls had a price. */
export const costOf = ({ cost_usd: usd }: WorkerOutcome): string[] => (usd > 0 ? [formatCost(usd)] : [])

function WorkerBody({ item: { goal, outcome } }: { item: Worker }) {
  return (
    <div className="tool-body">
      <h4>{generalWords.goal}</h4>
      <Said text={goal} />
      {outcome !== null && (
        <>
          <h4>{outcome.cause === null ? generalWords.result : chatWords.error}</h4>
          <Said text={outcome.text} />
          {outcome.truncated && <p className="faint">{chatWords.fullText}</p>}
          {outcome.partial !== null && (
            <>
              <h4>{chatWords.lastMessage}</h4>
              <Said text={outcome.partial} />
            </>
          )}
          {outcome.files_written.length > 0 && (
            <>
              <h4>{chatWords.filesWritten}</h4>
              <ul className="worker-files">
                {outcome.files_written.map(path => (
                  <li key={path}>
                    <code>{visibleText(path)}</code>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </div>
  )
}

export const Said = ({ text }: { text: string }) => (
  <p className="worker-said">
    <ExactText text={text} />
  </p>
)

export function Elapsed({ since }: { since: string }) {
  const ms = useNow(1000) - Date.parse(since)
  return ms > 1500 ? <span className="faint">{formatDuration(Math.floor(ms / 1000) * 1000)}</span> : null
}

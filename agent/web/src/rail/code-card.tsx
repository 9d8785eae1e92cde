/**
 * The run of a coding agent: its task, its steps and its result. Its pending permissions are decided among
 * the messages.
 */
import { memo, useState } from 'react'
import { clip, visibleText } from '@cairn/protocol'
import { type CodeRun, isLive, waitsForDecision } from '@cairn/state'
import { formatDuration, formatSpent, formatTokens, oneLine } from '../format.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { Status, type StatusKind } from '../ui/status.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { useNow } from '../ui/use-now.ts'
import './code-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type State = 'working' | 'waiting' | 'done' | 'failed' | 'stopped'
const WORDS: Readonly<Record<State, string>> = chatWords.codeRun
const KINDS: Readonly<Record<State, StatusKind>> = {
  working: 'running',
  waiting: 'waiting',
  done: 'done',
  failed: 'failed',
  stopped: 'idle',
}

/** The full answer is among the messages or in the result of the call. */
const ANSWER_CHARS = 600
const MAX_ROWS = 8

function stateOf(run: CodeRun): State {
  if (isLive(run)) return waitsForDecision(run) ? 'waiting' : 'working'
  const error = run.result?.error ?? null
  return error === null ? 'done' : error === 'stopped' ? 'stopped' : 'failed'
}

export const CodeCard = memo(function CodeCard({ run }: { run: CodeRun }) {
  const state = stateOf(run)
  const [isOpen, setOpen] = useState(isLive(run))
  return (
    <details
      className="rail-part"
      data-testid="code-card"
      data-state={state}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <strong>{run.agent}</strong>
        <span className="rail-object">{oneLine(visibleText(run.prompt), 140)}</span>
        <span className="rail-facts">
          <Status kind={KINDS[state]} word={WORDS[state]} />
          {isLive(run) ? <Elapsed since={run.started_at} /> : <Took run={run} />}
        </span>
      </summary>
      {isOpen && <Body run={run} />}
    </details>
  )
})

function Elapsed({ since }: { since: string }) {
  const now = useNow(1000)
  return <> · {formatDuration(Math.max(0, Math.round((now - Date.parse(since)) / 1000) * 1000))}</>
}

const Took = ({ run: { result } }: { run: CodeRun }) =>
  result?.duration_seconds === undefined ? null : <> · {formatDuration(result.duration_seconds * 1000)}</>

const Body = ({ run }: { run: CodeRun }) => (
  <div className="code-body">
    {run.repo !== null && (
      <p className="muted">
        {chatWords.inRepo(`repos/${run.repo.name}/${run.repo.branch.replace(/^.*\//, '')}`, run.repo.branch)}
      </p>
    )}
    {run.plan !== null && (
      <>
        <p className="code-head">{chatWords.plan}</p>
        <p className="code-plan">
          <ExactText text={run.plan} />
        </p>
      </>
    )}
    {run.lines.length > 0 && (
      <>
        <p className="code-head" id={`lines-${run.run_id}`}>
          {chatWords.activity}
        </p>
        <textarea
          className="code-lines"
          aria-labelledby={`lines-${run.run_id}`}
          readOnly
          rows={Math.min(MAX_ROWS, run.lines.length + 1)}
          value={run.lines.map(({ text }) => visibleText(text)).join('\n')}
        />
      </>
    )}
    {run.result !== null && <Result result={run.result} />}
  </div>
)

function Result({ result }: { result: NonNullable<CodeRun['result']> }) {
  const { final_message, error, input_tokens, output_tokens, cost_usd, cost_unpriced_model } = result
  const files = result.files_changed ?? []
  const spent = formatSpent(cost_usd ?? 0, cost_unpriced_model !== undefined)
  return (
    <>
      {error !== null && <p className="code-error">{visibleText(error)}</p>}
      {final_message !== null && (
        <>
          <p className="code-head">{generalWords.answer}</p>
          <Markdown text={clip(final_message, ANSWER_CHARS)} />
        </>
      )}
      {files.length > 0 && (
        <p className="muted">{chatWords.filesChanged(files.length, files.map(visibleText).join(', '))}</p>
      )}
      <p className="faint numeric" data-testid="code-sums">
        {result.usage_unknown === true
          ? chatWords.tokensUnknown
          : `${generalWords.tokenCount(formatTokens(input_tokens + output_tokens))} · ${spent}`}
      </p>
    </>
  )
}

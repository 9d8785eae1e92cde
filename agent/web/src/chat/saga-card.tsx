/**
 * The saga of the session: each step that changed something, what undoes it, and after a rollback what was
 * undone and what was not.
 */
import { memo, useState } from 'react'
import type { Saga, SagaStep } from '@cairn/state'
import { plural } from '../format.ts'
import { ChevronIcon } from '../ui/page-icons.tsx'
import './saga-card.css'

const STEP: Record<SagaStep['state'], { sign: string; word: string }> = {
  executing: { sign: '◐', word: 'running' },
  committed: { sign: '●', word: 'done' },
  failed: { sign: '✕', word: 'failed, changed nothing that is known' },
  compensating: { sign: '◐', word: 'being undone' },
  compensated: { sign: '↶', word: 'undone' },
  compensation_failed: { sign: '!', word: 'could not be undone' },
}
const CUT = { paused: 'a pause', stopped: 'a stop', failed: 'a failure' } as const

export const SagaCard = memo(function SagaCard({
  saga,
  onEvent,
}: {
  saga: Saga
  onEvent: (id: number) => void
}) {
  const failed = saga.steps.filter(step => step.state === 'compensation_failed').length
  // What was rolled back opens itself, unless a person has said otherwise.
  const [chosen, setChosen] = useState<boolean | null>(null)
  const isOpen = chosen ?? saga.owed !== null
  return (
    <details
      className="saga"
      data-testid="saga"
      data-status={saga.status ?? (saga.owed === null ? 'running' : 'rolling back')}
      open={isOpen}
    >
      <summary
        onClick={event => {
          event.preventDefault()
          setChosen(!isOpen)
        }}
      >
        <ChevronIcon />
        <strong>Saga</strong>
        <span className="saga-status">{statusOf(saga)}</span>
        <span className="saga-sums faint numeric">
          {plural(saga.steps.length, 'step')}
          {failed > 0 && ` · ${failed} not undone`}
        </span>
      </summary>
      <ol>
        {saga.steps.map(step => (
          <li key={step.step_id} data-testid="saga-step" data-state={step.state}>
            <span role="img" aria-label={STEP[step.state].word}>
              {STEP[step.state].sign}
            </span>
            <span>
              <code>{step.tool_name}</code> <span className="saga-undo">{undoOf(step)}</span>
            </span>
            <button type="button" className="json-link" onClick={() => onEvent(step.begun_at)}>
              event {step.begun_at}
            </button>
          </li>
        ))}
      </ol>
    </details>
  )
})

function statusOf({ status, owed, steps }: Saga): string {
  if (status === 'committed') return 'committed'
  const why = owed === null ? '' : ` after ${CUT[owed]}`
  if (status === 'compensated') return `rolled back${why}`
  if (status === 'escalated') return `rolled back in part${why}: somebody has to look`
  if (owed !== null) return `rolling back${why}`
  return steps.some(step => step.state === 'executing') ? 'a step is running' : 'running'
}

function undoOf({ state, checkpoint_hash, compensation_tool }: SagaStep): string {
  if (state === 'compensated')
    return checkpoint_hash === null
      ? `undone by ${compensation_tool ?? 'its undo'}`
      : `restored from checkpoint ${checkpoint_hash.slice(0, 8)}`
  if (state === 'compensation_failed') return STEP.compensation_failed.word
  if (state === 'failed') return 'failed'
  if (checkpoint_hash !== null) return `checkpoint ${checkpoint_hash.slice(0, 8)}`
  return compensation_tool === null ? 'has no undo' : `undo: ${compensation_tool}`
}

/** The saga of the session: its steps, their compensations, and the result of each after a rollback. */
import { memo, useState } from 'react'
import type { Saga, SagaStep } from '@cairn/state'
import { ChevronIcon } from '../ui/page-icons.tsx'
import './saga-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const STEP: Record<SagaStep['state'], { sign: string; word: string }> = {
  executing: { sign: '◐', word: chatWords.sagaStep.executing },
  committed: { sign: '●', word: chatWords.sagaStep.committed },
  failed: { sign: '✕', word: chatWords.sagaStep.failed },
  compensating: { sign: '◐', word: chatWords.sagaStep.compensating },
  compensated: { sign: '↶', word: chatWords.sagaStep.compensated },
  compensation_failed: { sign: '!', word: chatWords.sagaStep.compensation_failed },
}
const CUT = chatWords.sagaCut

export const SagaCard = memo(function SagaCard({
  saga,
  onEvent,
}: {
  saga: Saga
  onEvent: (id: number) => void
}) {
  // Opens by itself after a rollback, unless the person chose otherwise.
  const [chosen, setChosen] = useState<boolean | null>(null)
  const isOpen = chosen ?? saga.owed !== null
  return (
    <details
      className="rail-part saga"
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
        <strong>{chatWords.saga}</strong>
        <span className="rail-facts">{generalWords.steps(saga.steps.length)}</span>
        <span className="rail-object saga-status">{statusOf(saga)}</span>
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
              {generalWords.event(step.begun_at)}
            </button>
          </li>
        ))}
      </ol>
    </details>
  )
})

function statusOf({ status, owed, steps }: Saga): string {
  if (status === 'committed') return chatWords.sagaState.committed
  const why = owed === null ? '' : chatWords.sagaState.after(CUT[owed])
  if (status === 'compensated') return chatWords.sagaState.rolledBack(why)
  if (status === 'escalated') {
    const undone = steps.filter(step => step.state === 'compensated').length
    const left = steps.filter(step => step.state === 'compensation_failed').length
    return chatWords.sagaState.partly(undone, undone + left)
  }
  if (owed !== null) return chatWords.sagaState.rollingBack(why)
  return steps.some(step => step.state === 'executing')
    ? chatWords.sagaState.stepRunning
    : chatWords.sagaState.running
}

function undoOf({ state, checkpoint_hash, compensation_tool }: SagaStep): string {
  if (state === 'compensated')
    return checkpoint_hash === null
      ? compensation_tool === null
        ? chatWords.sagaUndo.byOwn
        : chatWords.sagaUndo.by(compensation_tool)
      : chatWords.sagaUndo.restored(checkpoint_hash.slice(0, 8))
  if (state === 'compensation_failed') return STEP.compensation_failed.word
  if (state === 'failed') return chatWords.sagaUndo.failed
  if (checkpoint_hash !== null) return chatWords.sagaUndo.checkpoint(checkpoint_hash.slice(0, 8))
  return compensation_tool === null ? chatWords.sagaUndo.none : chatWords.sagaUndo.with(compensation_tool)
}

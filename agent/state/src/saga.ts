/**
 * Sagas as a fold of the log, and the decision what to undo next (contract 14.8, 10).
 *
 * A step: begun (`executing`) → committed | failed; a committed one, when a rollback fires: begun again as
 * `compensating` → `compensated` | `compensation_failed`. The undo is on disk as `compensating` before it
 * starts, so a worker that takes over never starts it twice: an undo whose outcome is unknown counts as
 * failed and an operator is told.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

export type SagaStepState =
  'executing' | 'committed' | 'failed' | 'compensating' | 'compensated' | 'compensation_failed'
export type SagaStep = {
  readonly step_id: string
  readonly tool_name: string
  readonly state: SagaStepState
  readonly tool_call_id: string | null
  readonly compensation_tool: string | null
  readonly compensation_args: Record<string, unknown> | null
  readonly checkpoint_hash: string | null
  readonly begun_at: EventId
}
export type Saga = {
  readonly saga_id: string
  /** In the order they were begun. */
  readonly steps: readonly SagaStep[]
  /** Null while it runs. */
  readonly status: 'committed' | 'compensated' | 'escalated' | null
  /** Why a rollback is owed: what cut the saga while it ran; null while nothing has. */
  readonly owed: 'paused' | 'stopped' | 'failed' | null
  /** The rollback that fired: its reason, or null. */
  readonly rollback: string | null
  /** The summary event of the rollback is on disk. */
  readonly reported: boolean
}
/** The running saga, or the last one; null before the first. */
export type SagaState = Saga | null

const STEP_STATES: readonly string[] = [
  'executing',
  'committed',
  'failed',
  'compensating',
  'compensated',
  'compensation_failed',
] satisfies SagaStepState[]

const CUT = { 'session.pause': 'paused', 'session.stopped': 'stopped', 'session.fail': 'failed' } as const

export function foldSaga(saga: SagaState, event: SessionEvent): SagaState {
  if (event.type === 'saga.start')
    return {
      saga_id: event.data.saga_id,
      steps: [],
      status: null,
      owed: null,
      rollback: null,
      reported: false,
    }
  if (saga === null) return null
  switch (event.type) {
    case 'session.pause':
    case 'session.stopped':
    case 'session.fail':
      return saga.status === null && saga.owed === null ? { ...saga, owed: CUT[event.type] } : saga
    case 'saga.step_begin':
    case 'saga.step_committed':
    case 'saga.step_failed': {
      const { data } = event
      if (data.saga_id !== saga.saga_id || !STEP_STATES.includes(data.state)) return saga
      const state = data.state as SagaStepState
      const known = saga.steps.find(step => step.step_id === data.step_id)
      const step: SagaStep = {
        step_id: data.step_id,
        tool_name: data.tool_name,
        state,
        begun_at: known?.begun_at ?? event.id,
        tool_call_id: data.tool_call_id ?? known?.tool_call_id ?? null,
        compensation_tool: data.compensation_tool ?? known?.compensation_tool ?? null,
        compensation_args: data.compensation_args ?? known?.compensation_args ?? null,
        checkpoint_hash: data.checkpoint_hash ?? known?.checkpoint_hash ?? null,
      }
      return {
        ...saga,
        steps: known
          ? saga.steps.map(other => (other.step_id === step.step_id ? step : other))
          : [...saga.steps, step],
      }
    }
    case 'saga.compensate':
      return event.data.saga_id === saga.saga_id
        ? { ...saga, rollback: event.data.reason, reported: true }
        : saga
    case 'saga.complete':
      return event.data.saga_id === saga.saga_id && saga.status === null
        ? { ...saga, status: event.data.status }
        : saga
    default:
      return saga
  }
}

export type Unwinding =
  /** Undo this step now: write it as `compensating`, then run its compensation. */
  | { do: 'undo'; step: SagaStep }
  /** This undo was begun and nobody knows how it ended: write it as failed, never run it again. */
  | { do: 'give_up'; step: SagaStep }
  /** Everything that was committed has been dealt with: write saga.compensate, then saga.complete. */
  | { do: 'report'; steps_rolled_back: readonly string[]; failed_steps: readonly string[] }

/**
 * What comes next in a rollback: committed steps in reverse order, each at most once, failures listed and
 * passed over.
 */
export function nextUnwinding(saga: Saga): Unwinding {
  for (const step of saga.steps.toReversed()) {
    if (step.state === 'compensating') return { do: 'give_up', step }
    if (step.state === 'committed') return { do: 'undo', step }
  }
  const ids = (state: SagaStepState) =>
    saga.steps
      .filter(step => step.state === state)
      .map(step => step.step_id)
      .toReversed()
  return { do: 'report', steps_rolled_back: ids('compensated'), failed_steps: ids('compensation_failed') }
}

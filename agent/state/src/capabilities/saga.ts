/**
 * Sagas as a fold of the log, and the decision what to undo next (contract 14.8, 10).
 *
 * A step: started (`executing`) → committed | failed. When a rollback fires, a committed step starts again as
 * `compensating` → `compensated` | `compensation_failed`. `compensating` is on disk before the undo runs, so
 * a runner that takes over never runs it twice: an undo with an unknown outcome counts as failed, and an
 * operator is notified.
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
  /** In the order in which they started. */
  readonly steps: readonly SagaStep[]
  /** Null while the saga runs. */
  readonly status: 'committed' | 'compensated' | 'escalated' | null
  /** The interruption that requires a rollback; null: none. */
  readonly owed: 'paused' | 'stopped' | 'failed' | null
  /** The reason of the rollback that fired; null: none. */
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
  /** Undo this step now: write `compensating`, then run its compensation. */
  | { do: 'undo'; step: SagaStep }
  /** This undo started and its outcome is unknown: record it as failed, never run it again. */
  | { do: 'give_up'; step: SagaStep }
  /** Every committed step is handled: write saga.compensate, then saga.complete. */
  | { do: 'report'; steps_rolled_back: readonly string[]; failed_steps: readonly string[] }

/**
 * The next action of a rollback: committed steps in reverse order, each at most once; failures are listed and
 * skipped.
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

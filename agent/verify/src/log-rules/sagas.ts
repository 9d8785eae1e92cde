/**
 * Rules over one log: steps in order, each undone at most once and in reverse, one end (contract 14.8, 10).
 * Part of `checkHistory`.
 */
import type { EventOf, SessionEvent } from '@cairn/protocol'

type Running = { saga_id: string; steps: Map<string, string>; owed: boolean; failed: number | null }
type StepEvent = EventOf<'saga.step_begin'> | EventOf<'saga.step_committed'> | EventOf<'saga.step_failed'>

/** Event and state → the required state of the step before it; null: the step must be new. */
const BEFORE: Readonly<Record<string, string | null>> = {
  'saga.step_begin executing': null,
  'saga.step_committed committed': 'executing',
  'saga.step_failed failed': 'executing',
  'saga.step_begin compensating': 'committed',
  'saga.step_committed compensated': 'compensating',
  'saga.step_failed compensation_failed': 'compensating',
}

/** Feed it the events of a log in order; it returns the violations of each. */
export function sagaRules(): {
  check(event: SessionEvent): string[]
  /** Violations if the log ends here. */
  atEnd(): string[]
} {
  let running: Running | null = null
  const seen = new Set<string>()

  function check(event: SessionEvent): string[] {
    switch (event.type) {
      case 'saga.start': {
        const found = [
          ...(running === null ? [] : [`saga ${running.saga_id} is still running`]),
          ...(seen.has(event.data.saga_id) ? ['a saga with that id already started'] : []),
        ]
        running = { saga_id: event.data.saga_id, steps: new Map(), owed: false, failed: null }
        seen.add(event.data.saga_id)
        return found
      }
      case 'session.pause':
      case 'session.stopped':
      case 'session.fail':
        if (running !== null) running.owed = true
        return []
      case 'harness.wake':
      case 'llm.request':
      case 'tool.call':
        return running?.owed ? ['a turn continues although a rollback is due'] : []
      case 'saga.step_begin':
      case 'saga.step_committed':
      case 'saga.step_failed':
      case 'saga.compensate':
      case 'saga.complete': {
        if (running?.saga_id !== event.data.saga_id) return ['no saga with that id is running']
        if (event.type === 'saga.compensate') return compensate(running, event)
        if (event.type !== 'saga.complete') return step(running, event)
        const found = complete(running, event)
        running = null
        return found
      }
      default:
        return []
    }
  }

  return {
    check,
    atEnd: () => (running?.owed ? [`saga ${running.saga_id} was not rolled back`] : []),
  }
}

function step(saga: Running, { type, data: { step_id, state } }: StepEvent): string[] {
  const due = BEFORE[`${type} ${state}`]
  if (due === undefined) return [`a ${type} does not put a step into the state ${state}`]
  const found: string[] = []
  const now = saga.steps.get(step_id) ?? null
  if (now !== due) found.push(`step ${step_id} is ${now ?? 'new'}, expected ${due ?? 'new'}`)
  if (state === 'executing' && saga.owed) found.push('a step starts although a rollback is due')
  if (state === 'compensating') {
    if (!saga.owed) found.push('a step is undone although no rollback is due')
    const later = [...saga.steps]
      .slice([...saga.steps.keys()].indexOf(step_id) + 1)
      .filter(([, other]) => other === 'committed' || other === 'compensating')
    if (later.length > 0) found.push(`step ${step_id} is undone before ${later.map(([id]) => id).join(', ')}`)
  }
  saga.steps.set(step_id, state)
  return found
}

const inState = (saga: Running, state: string): string[] =>
  [...saga.steps].flatMap(([id, at]) => (at === state ? [id] : [])).toReversed()

function compensate(saga: Running, { data }: EventOf<'saga.compensate'>): string[] {
  const found: string[] = []
  if (!saga.owed) found.push('no rollback is due')
  if (saga.steps.size === 0) found.push('no step has started: nothing to compensate')
  if (saga.failed !== null) found.push('the rollback was already reported')
  const failed = data.failed_steps ?? []
  if (data.failed_steps?.length === 0) found.push('failed_steps is present but empty')
  if (inState(saga, 'committed').length + inState(saga, 'compensating').length > 0)
    found.push('some steps are neither undone nor listed')
  if (inState(saga, 'compensated').join() !== data.steps_rolled_back.join())
    found.push('steps_rolled_back does not list the undone steps, latest first')
  if (inState(saga, 'compensation_failed').join() !== failed.join())
    found.push('failed_steps does not list the steps that could not be undone, latest first')
  saga.failed = failed.length
  return found
}

function complete(saga: Running, { data: { status } }: EventOf<'saga.complete'>): string[] {
  const isEmpty = saga.steps.size === 0
  const due =
    saga.owed && isEmpty
      ? 'compensated'
      : saga.failed === null
        ? 'committed'
        : saga.failed > 0
          ? 'escalated'
          : 'compensated'
  if (saga.owed && saga.failed === null && !isEmpty) return ['the saga ends although a rollback is due']
  return status === due ? [] : [`the saga ends as ${status}, expected ${due}`]
}

import { expect, test } from 'vitest'
import fc from 'fast-check'
import type { SessionEvent } from '@cairn/protocol'
import { type SagaState, type SagaStepState, foldSaga, nextUnwinding } from './saga.ts'

const TYPE: Record<SagaStepState, SessionEvent['type']> = {
  executing: 'saga.step_begin',
  committed: 'saga.step_committed',
  failed: 'saga.step_failed',
  compensating: 'saga.step_begin',
  compensated: 'saga.step_committed',
  compensation_failed: 'saga.step_failed',
}
const stepEvent = (step_id: string, state: SagaStepState): SessionEvent =>
  ({
    id: 1,
    session_id: 's',
    created_at: '',
    type: TYPE[state],
    data: { saga_id: 'g', step_id, tool_name: 'write_file', state, timestamp: 0 },
  }) as unknown as SessionEvent
const start = {
  id: 1,
  session_id: 's',
  created_at: '',
  type: 'saga.start',
  data: { saga_id: 'g', session_id: 's', timestamp: 0 },
} as unknown as SessionEvent

/**
 * Runs a rollback until its report. `crashAt(n)` returns whether the runner dies after the n-th event, `undo`
 * the result of an undo.
 */
function unwind(saga: SagaState, undo: (step: string) => boolean, crashAt: (n: number) => boolean) {
  const log: SessionEvent[] = []
  const undone: string[] = []
  let state = saga
  const write = (event: SessionEvent): void => {
    log.push(event)
    state = foldSaga(state, event)
  }
  for (let guard = 0; guard < 1000; guard++) {
    const step = nextUnwinding(state!)
    if (step.do === 'report') return { undone, report: step, log }
    if (step.do === 'give_up') {
      write(stepEvent(step.step.step_id, 'compensation_failed'))
      continue
    }
    write(stepEvent(step.step.step_id, 'compensating'))
    if (crashAt(log.length)) continue // the worker died here: the next one starts from the log
    undone.push(step.step.step_id)
    const worked = undo(step.step.step_id)
    if (crashAt(log.length + 1000)) continue // died after the undo took effect, before it was written
    write(stepEvent(step.step.step_id, worked ? 'compensated' : 'compensation_failed'))
  }
  throw new Error('the rollback does not end')
}

const steps = fc.array(fc.constantFrom<SagaStepState>('committed', 'failed', 'executing'), { maxLength: 12 })
const build = (states: SagaStepState[]): SagaState =>
  states.reduce<SagaState>(
    (saga, state, i) =>
      (state === 'executing'
        ? [stepEvent(`s${i}`, 'executing')]
        : [stepEvent(`s${i}`, 'executing'), stepEvent(`s${i}`, state)]
      ).reduce(foldSaga, saga),
    foldSaga(null, start),
  )

test('committed steps are undone once in reverse order, and failures are listed while the rollback continues', () => {
  fc.assert(
    fc.property(steps, fc.func(fc.boolean()), (states, undo) => {
      const committed = states.flatMap((state, i) => (state === 'committed' ? [`s${i}`] : [])).toReversed()
      const { undone, report } = unwind(build(states), undo, () => false)
      expect(undone).toEqual(committed)
      expect(report.steps_rolled_back).toEqual(committed.filter(step => undo(step)))
      expect(report.failed_steps).toEqual(committed.filter(step => !undo(step)))
    }),
  )
})

test('with any crashes, no step is undone twice and every committed one is accounted for', () => {
  fc.assert(
    fc.property(
      steps,
      fc.func(fc.boolean()),
      fc.array(fc.nat({ max: 40 })),
      fc.array(fc.nat({ max: 40 })),
      (states, undo, early, late) => {
        const committed = states.flatMap((state, i) => (state === 'committed' ? [`s${i}`] : []))
        const { undone, report } = unwind(
          build(states),
          undo,
          n => early.includes(n) || late.includes(n - 1000),
        )
        expect(new Set(undone).size).toBe(undone.length)
        expect([...report.steps_rolled_back, ...report.failed_steps].toSorted()).toEqual(committed.toSorted())
      },
    ),
  )
})

test('an undo that was started before a crash is given up and not repeated', () => {
  const half = foldSaga(build(['committed']), stepEvent('s0', 'compensating'))
  expect(nextUnwinding(half!)).toMatchObject({ do: 'give_up', step: { step_id: 's0' } })
})

/**
 * A session stopped in the middle of its saga, its runner killed at every commit: one rollback, and no step
 * undone twice.
 */
import { oneIn } from '@cairn/protocol/test/sample'
import { pauseSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { say } from '../turn/stage.ts'
import { type Death, deathsOf, withDeath } from '../turn/with-death.ts'
import { HANG, sagaOf, setSagaStage, WORK } from './saga-stage.ts'

const scenario = { rules: [{ steps: [...WORK, HANG] }] }

/**
 * Works until the call that hangs. The runner that did the work stops around the pause, and another one rolls
 * back.
 */
const rollBack = (death: Death) =>
  withDeath(
    {
      set: store => setSagaStage(scenario, { store }),
      async prepare({ stage }) {
        const worker = stage.start()
        await stage.send('go')
        await stage.next('tool.call', 5)
        const stopping = worker.stop()
        await pauseSession(stage.deps, stage.session_id)
        await stopping
      },
      play: ({ stage }) => stage.next('saga.complete'),
      look: async ({ stage, booked, file }) => ({
        cancelled: booked.cancelled.length,
        files: [file('kept.txt'), file('made.txt')],
        session: await stage.session(),
      }),
    },
    death,
  )

const undisturbed = await rollBack(null)

test('a rollback without a death is sound', () => {
  expect(checkHistory(undisturbed.events, { settled: true })).toEqual([])
  expect(undisturbed).toMatchObject({ seen: { cancelled: 1, files: ['as it was', null] }, problems: [] })
  expect(undisturbed.commits).toBe(8)
})

/** Promise 10: Each saga step is undone at most once, wherever the runner dies. */
test.each(oneIn(4, deathsOf(undisturbed.commits)))(
  'a rollback killed just $when commit $nth is resumed and undoes nothing twice',
  async death => {
    const {
      events,
      problems,
      seen: { cancelled, files, session },
    } = await rollBack(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    expect(session).toMatchObject({ status: 'paused', lease: null })
    expect(cancelled).toBeLessThanOrEqual(1)
    const begun = events.flatMap(event =>
      event.type === 'saga.step_begin' && event.data.state === 'compensating' ? [event.data.step_id] : [],
    )
    expect(begun).toHaveLength(3)
    expect(events.filter(event => event.type === 'saga.compensate')).toHaveLength(1)
    const [ended, ...more] = events.filter(event => event.type === 'saga.complete')
    expect(more).toEqual([])
    // After a death during an undo its effect is unknown, and an operator is notified.
    if (ended?.data.status === 'compensated')
      expect({ files, cancelled }).toEqual({ files: ['as it was', null], cancelled: 1 })
    else
      expect(
        events.filter(
          event => event.type === 'saga.step_failed' && event.data.state === 'compensation_failed',
        ),
      ).toHaveLength(1)
  },
)

/** A turn that completes. */
const finish = (death: Death) =>
  withDeath(
    {
      set: store => setSagaStage({ rules: [{ steps: [...WORK, say('done')] }] }, { store }),
      play: async ({ stage }) => {
        await stage.send('go')
        await stage.next('session.complete')
      },
      look: ({ booked }) => ({ booked: booked.made.length, cancelled: booked.cancelled.length }),
    },
    death,
  )

const finished = await finish(null)
test.each(oneIn(4, deathsOf(finished.commits)))(
  'a turn killed just $when commit $nth commits one saga with the same steps',
  async death => {
    const {
      events,
      problems,
      seen: { booked, cancelled },
    } = await finish(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    expect(booked).toBeLessThanOrEqual(1)
    expect(cancelled).toBe(0)
    // An interrupted booking is a failed step with an unknown outcome; everything else is as without a death.
    expect(
      sagaOf(events).map(entry =>
        entry.replace('saga.step_failed book failed', 'saga.step_committed book committed'),
      ),
    ).toEqual(sagaOf(finished.events))
    expect(events.flatMap(event => (event.type === 'saga.complete' ? [event.data.status] : []))).toEqual([
      'committed',
    ])
  },
)

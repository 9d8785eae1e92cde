/** Sagas on the real store (contract 14.8, 6, 10). */
import { pauseSession, resumeSession, stopSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { call, say, typesOf } from '../turn/stage.ts'
import { HANG, sagaOf, setSagaStage, tool, WORK } from './saga-stage.ts'

const working = {
  rules: [{ when: { user: 'again' }, answer: say('hello again') }, { steps: [...WORK, HANG] }],
}
const STEPS = ['write_file', 'write_file', 'book'].flatMap(name => [
  `saga.step_begin ${name} executing`,
  `saga.step_committed ${name} committed`,
])
const ROLLED_BACK = ['book', 'write_file', 'write_file'].flatMap(name => [
  `saga.step_begin ${name} compensating`,
  `saga.step_committed ${name} compensated`,
])

test('a completed turn commits its saga, with one step per changing call in the commits of that call', async () => {
  const { stage } = await setSagaStage({ rules: [{ steps: [...WORK, say('done')] }] })
  await using _ = stage
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(sagaOf(events)).toEqual(['saga.start', ...STEPS, 'saga.complete'])
  expect(typesOf(events).slice(1, 4)).toEqual(['harness.wake', 'saga.start', 'llm.request'])
  expect(typesOf(events).slice(-3)).toEqual(['saga.complete', 'turn.summary', 'session.complete'])
  const [start] = events.filter(event => event.type === 'saga.start')
  expect(start?.data).toEqual({
    saga_id: expect.any(String),
    session_id: stage.session_id,
    timestamp: expect.any(Number),
  })
  const saga_id = start?.data.saga_id
  const [begun] = events.filter(event => event.type === 'saga.step_begin')
  const called = events.find(event => event.type === 'tool.call')
  expect(called?.id).toBe((begun?.id ?? 0) - 1)
  expect(begun?.data).toEqual({
    saga_id,
    step_id: expect.any(String),
    tool_name: 'write_file',
    state: 'executing',
    timestamp: expect.any(Number),
    tool_call_id: called?.type === 'tool.call' ? called.data.tool_call_id : '',
    arguments: { path: 'kept.txt', content: 'changed' },
    checkpoint_hash: called?.type === 'tool.call' ? called.data.checkpoint_hash : '',
  })
  const booked = events
    .filter(event => event.type === 'saga.step_begin' || event.type === 'saga.step_committed')
    .filter(event => event.data.tool_name === 'book')
  expect(booked[0]?.data).toMatchObject({ compensation_tool: 'cancel' })
  expect(booked[1]?.data).toMatchObject({
    result: '{"booking":1}',
    compensation_args: { booking: 1, note: 'was room' },
  })
  expect(events.filter(event => event.type === 'saga.complete').map(event => event.data)).toEqual([
    { saga_id, status: 'committed', steps_executed: 3, timestamp: expect.any(Number) },
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(await stage.store.check()).toEqual([])
})

/** Promise 14.8: A session writes `saga.start` once per saga, not per turn. */
test('a saga starts once with the session, and the turn that has steps commits it', async () => {
  const { stage } = await setSagaStage({
    rules: [
      { when: { user: 'book' }, steps: [{ tool_calls: [tool('book', { value: 'room' })] }, say('booked')] },
      { answer: say('hello') },
    ],
  })
  await using _ = stage
  stage.start()
  for (const [index, text] of ['hi', 'hi again', 'book', 'thanks'].entries()) {
    await stage.send(text)
    await stage.next('session.complete', index + 1)
  }
  const events = await stage.events()
  expect(sagaOf(events)).toEqual([
    'saga.start',
    'saga.step_begin book executing',
    'saga.step_committed book committed',
    'saga.complete',
    'saga.start',
  ])
  expect(typesOf(events).slice(0, 4)).toEqual(['user.message', 'harness.wake', 'saga.start', 'llm.request'])
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(await stage.store.check()).toEqual([])
})

/** Promise 10.6: Every event of a saga step names its compensation. */
test('every event of a step names its compensation', async () => {
  const { stage } = await setSagaStage({ rules: [{ steps: [...WORK, say('done')] }] })
  await using _ = stage
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const steps = (await stage.events()).filter(
    event => event.type === 'saga.step_begin' || event.type === 'saga.step_committed',
  )
  expect(steps).toHaveLength(6)
  for (const { type, data } of steps) {
    expect(data.tool_call_id, type).toEqual(expect.any(String))
    if (data.tool_name === 'book') expect(data.compensation_tool, type).toBe('cancel')
    else expect(data.checkpoint_hash, type).toMatch(/^[0-9a-f]{64}$/)
  }
})

/**
 * Promise 14.8: A pause undoes the committed steps in reverse order, both files and declared compensations.
 */
test('a pause rolls back in reverse: restores content, removes a created file and runs the declared undo', async () => {
  const { stage, booked, file } = await setSagaStage(working)
  await using _ = stage
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call', 5)
  expect([file('kept.txt'), file('made.txt'), booked.made]).toEqual(['changed', 'new', ['room']])
  await pauseSession(stage.deps, stage.session_id)
  const ended = await stage.next('saga.complete')
  await harness.idle()
  const events = await stage.events()
  expect(sagaOf(events)).toEqual([
    'saga.start',
    ...STEPS,
    'saga.step_begin hang executing',
    'saga.step_failed hang failed',
    ...ROLLED_BACK,
    'saga.compensate',
    'saga.complete',
  ])
  expect([file('kept.txt'), file('made.txt')]).toEqual(['as it was', null])
  expect(booked.cancelled).toEqual([{ booking: 1, note: 'was room' }])
  const ids = events.flatMap(event =>
    event.type === 'saga.step_committed' && event.data.state === 'compensated' ? [event.data.step_id] : [],
  )
  expect(events.filter(event => event.type === 'saga.compensate').map(event => event.data)).toEqual([
    {
      saga_id: ended.data.saga_id,
      steps_rolled_back: ids,
      reason: 'paused',
      timestamp: expect.any(Number),
      told: expect.stringContaining('Undone: book'),
    },
  ])
  expect(ended.data).toMatchObject({ status: 'compensated', steps_executed: 3 })
  expect(await stage.session()).toMatchObject({ status: 'paused', lease: null })
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(await stage.store.check()).toEqual([])
  // When the turn continues, the interrupted call is closed and not repeated under an ended saga.
  await stage.send('again')
  await resumeSession(stage.deps, stage.session_id)
  await stage.next('session.complete')
  const all = await stage.events()
  expect(sagaOf(all).slice(-2)).toEqual(['saga.complete', 'saga.start'])
  expect(stage.ran.filter(value => value === 'hang:1')).toHaveLength(1)
  // The model gets the message before it reads what was said since, and no answer is generated for it alone.
  const told = stage.server.requests.at(-1)?.body.messages.map(message => String(message.content)) ?? []
  expect(told.slice(-2)).toEqual([
    expect.stringMatching(
      /^\[Rolled back\]\nThe work was paused .*\nUndone: book \(.+\), write_file \(.+\), write_file \(.+\)\.$/s,
    ),
    'again',
  ])
  expect(checkHistory(all, { settled: true })).toEqual([])
})

test('a stop rolls back and leaves the session active, and a message that arrives meanwhile waits for it', async () => {
  const { stage, file } = await setSagaStage(working)
  await using _ = stage
  stage.start()
  await stage.send('go')
  await stage.next('tool.call', 5)
  await stopSession(stage.deps, stage.session_id)
  await stage.send('again')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(events.filter(event => event.type === 'saga.compensate').map(event => event.data.reason)).toEqual([
    'stopped',
  ])
  expect(file('kept.txt')).toBe('as it was')
  expect(checkHistory(events, { settled: true })).toEqual([])
})

/** Promise 6: A model that continues after a rollback is informed of what was undone. */
test('a rollback adds a message for the model and starts no model call', async () => {
  const { stage } = await setSagaStage(working)
  await using _ = stage
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call', 5)
  await stopSession(stage.deps, stage.session_id)
  await stage.next('saga.complete')
  const asked = stage.server.requests.length
  await stage.send('/help')
  await stage.until(events =>
    events.some(event => event.type === 'llm.response' && event.data.finish_reason === 'command'),
  )
  await harness.idle()
  expect(stage.server.requests).toHaveLength(asked)
  expect(checkHistory(await stage.events())).toEqual([])
})

/** Promise 10: A recoverable tool error rolls nothing back. */
test('a session that fails rolls back, and a tool that fails does not', async () => {
  const { stage, file } = await setSagaStage({
    rules: [
      {
        steps: [
          WORK[0]!,
          { tool_calls: [{ name: 'write_file', arguments: { path: 'kept.txt/below', content: 'x' } }] },
          { error: { status: 400, message: 'bad' } },
        ],
      },
    ],
  })
  await using _ = stage
  stage.start()
  await stage.send('go')
  await stage.next('saga.complete')
  const events = await stage.events()
  const types = typesOf(events)
  expect(types.indexOf('session.fail')).toBeLessThan(types.indexOf('saga.compensate'))
  expect(events.filter(event => event.type === 'llm.request')).toHaveLength(3)
  expect(events.filter(event => event.type === 'saga.compensate').map(event => event.data.reason)).toEqual([
    'failed',
  ])
  expect([file('kept.txt'), file('made.txt')]).toEqual(['as it was', null])
  expect((await stage.session()).status).toBe('failed')
  expect(checkHistory(events, { settled: true })).toEqual([])
})

/** Promise 13.4: A failed compensation is listed, and the rollback continues. */
test('a failed undo and a tool without one are listed, the rollback continues, and the saga is escalated', async () => {
  const { stage, booked, file } = await setSagaStage({
    rules: [{ steps: [...WORK, call('note', 'for ever'), HANG] }],
  })
  await using _ = stage
  booked.refuse = true
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call', 6)
  await pauseSession(stage.deps, stage.session_id)
  const ended = await stage.next('saga.complete')
  await harness.idle()
  const events = await stage.events()
  const failed = events.flatMap(event =>
    event.type === 'saga.step_failed' && event.data.state === 'compensation_failed' ? [event.data] : [],
  )
  expect(failed.map(step => [step.tool_name, step.error])).toEqual([
    ['note', expect.stringContaining('has no undo')],
    ['book', expect.stringContaining('it is too late')],
  ])
  const [report] = events.filter(event => event.type === 'saga.compensate')
  expect(report?.data.failed_steps).toEqual(failed.map(step => step.step_id))
  expect(report?.data.steps_rolled_back).toHaveLength(2)
  expect(ended.data.status).toBe('escalated')
  expect([file('kept.txt'), file('made.txt')]).toEqual(['as it was', null])
  expect(checkHistory(events, { settled: true })).toEqual([])
})

/** Promise 14.8: A session without sagas writes no saga event. */
test('without sagas there is no saga event, and a pause undoes nothing', async () => {
  const { stage, file } = await setSagaStage(working, { enabled: false })
  await using _ = stage
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call', 5)
  await pauseSession(stage.deps, stage.session_id)
  await harness.idle()
  const events = await stage.events()
  expect(sagaOf(events)).toEqual([])
  expect(file('kept.txt')).toBe('changed')
})

/** Promise 14.8: A pause before the first step reports no rollback. */
test('a pause before the first step ends the saga and reports no rollback', async () => {
  const { stage } = await setSagaStage({
    rules: [{ when: { user: 'again' }, answer: say('hello') }, { answer: { hang: true } }],
  })
  await using _ = stage
  const harness = stage.start()
  await stage.send('go')
  await stage.next('llm.request')
  await pauseSession(stage.deps, stage.session_id)
  const ended = await stage.next('saga.complete')
  await harness.idle()
  const events = await stage.events()
  expect(ended.data).toMatchObject({ status: 'compensated', steps_executed: 0 })
  expect(sagaOf(events)).toEqual(['saga.start', 'saga.complete'])
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(await stage.store.check()).toEqual([])
})

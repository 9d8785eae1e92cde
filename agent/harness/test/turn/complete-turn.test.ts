import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addMessage, createSession, renameSession } from '@cairn/sessions'
import { alice, call, say, setStage, typesOf } from './stage.ts'

test('a turn with tools writes all its events and completes the session', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { steps: [{ ...call('note', 'a'), reasoning: 'I should note that.' }, say('Done: a is noted.')] },
      ],
    },
  })
  stage.start()
  await stage.send('note a')
  await stage.next('session.complete')

  const events = await stage.events()
  expect(typesOf(events)).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.thinking',
    'llm.response',
    'tool.call',
    'tool.result',
    'iteration.summary',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
  const [first, second] = events.filter(event => event.type === 'llm.response')
  expect(first?.data).toMatchObject({
    message: { role: 'assistant', tool_calls: [{ function: { name: 'note' } }] },
    model: 'demo/model',
    iteration_index: 0,
    cost_unpriced_model: 'demo/model',
    context_window: 128_000,
  })
  expect(second?.data).toMatchObject({
    message: { content: 'Done: a is noted.' },
    iteration_index: 1,
    finish_reason: 'stop',
  })
  expect(events.filter(event => event.type === 'iteration.summary').map(event => event.data.summary)).toEqual(
    ['Call note', 'Answer the user'],
  )
  expect(events.find(event => event.type === 'turn.summary')?.data).toMatchObject({
    recap: 'Call note',
    iterations: 2,
    iteration_index: 1,
  })
  expect(events.find(event => event.type === 'session.complete')?.data).toMatchObject({ reason: 'completed' })
  const turnIds = new Set(
    events.flatMap(event =>
      'turn_id' in event.data && typeof event.data.turn_id === 'string' ? [event.data.turn_id] : [],
    ),
  )
  expect(turnIds.size).toBe(1)
  expect(await stage.session()).toMatchObject({
    status: 'completed',
    lease: null,
    tool_call_count: 1,
    model: 'demo/model',
  })
  expect(stage.ran).toEqual(['note:a'])
})

test('a turn that changes no file creates a workspace but no folder of checkpoints', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('Hello.') }] } })
  stage.start()
  await stage.send('hello')
  await stage.next('session.complete')
  expect(existsSync(join(stage.dir, 'workspaces', stage.session_id))).toBe(true)
  expect(existsSync(join(stage.dir, 'checkpoints'))).toBe(false)
})

test('the chunks are written before the response and add up to the answer', async () => {
  const text = 'A long answer that arrives in many pieces, one after the other.'
  await using stage = await setStage({
    scenario: {
      chunk_chars: 5,
      pace_ms: 2,
      rules: [{ answer: { text, reasoning: 'Let me think about it.' } }],
    },
  })
  stage.start()
  await stage.send('talk')
  await stage.next('session.complete')
  const events = await stage.events()
  const deltas = events.filter(event => event.type === 'llm.delta')
  expect(deltas.length).toBeGreaterThan(2)
  expect(deltas.map(event => event.data.content ?? '').join('')).toBe(text)
  expect(deltas.map(event => event.data.reasoning ?? '').join('')).toBe('Let me think about it.')
  expect(events.findLastIndex(event => event.type === 'llm.delta')).toBeLessThan(
    events.findIndex(event => event.type === 'llm.response'),
  )
})

test('a second message starts a second turn with the first in its context', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: 'first' }, answer: say('one') },
        { when: { user: 'second', turn: 2 }, answer: say('two') },
      ],
    },
  })
  stage.start()
  await stage.send('first')
  await stage.next('session.complete')
  await stage.send('second')
  await stage.next('session.complete', 2)
  const events = await stage.events()
  expect(typesOf(events).slice(7, 11)).toEqual([
    'session.resume',
    'user.message',
    'harness.wake',
    'llm.request',
  ])
  expect(
    new Set(events.filter(event => event.type === 'turn.summary').map(event => event.data.turn_id)).size,
  ).toBe(2)
  expect(stage.server.requests.at(-1)?.body.messages.map(message => message.content)).toEqual([
    expect.any(String),
    'first',
    'one',
    'second',
  ])
})

test('a message that arrives during a turn is part of the next iteration', async () => {
  const answer = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: '^start' }, steps: [call('look', 'x')] },
        { when: { user: 'rather' }, answer: say('rather it is') },
      ],
    },
    hold: () => answer.promise,
  })
  stage.start()
  await stage.send('start')
  await stage.server.requested(1)
  await stage.send('rather this')
  answer.resolve()
  await stage.next('session.complete')
  const last = stage.server.requests.at(-1)?.body.messages ?? []
  expect(last.map(message => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
  expect((await stage.events()).filter(event => event.type === 'session.complete')).toHaveLength(1)
})

/** Promise 7.3: A message that arrives as a turn ends is answered. */
test('a message that arrives while the last answer streams is answered in the same turn', async () => {
  const answer = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: '^start' }, answer: say('first answer') },
        { when: { user: 'late' }, answer: say('late answer') },
      ],
    },
    hold: () => answer.promise,
  })
  stage.start()
  await stage.send('start')
  await stage.server.requested(1)
  await stage.send('late')
  answer.resolve()
  const end = await stage.next('session.complete')
  const events = await stage.events()
  expect(
    events.filter(event => event.type === 'llm.response').map(event => event.data.message.content),
  ).toEqual(['first answer', 'late answer'])
  expect(events.at(-1)?.id).toBe(end.id)
})

test('a session without a title gets one', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { system: 'name conversations' }, answer: say('"Notes on cairns."') },
        { when: { user: 'cairns' }, answer: say('They are heaps of stones.') },
      ],
    },
  })
  const untitled = await createSession(stage.deps, ['assistant'], { principal: alice })
  const harness = stage.start()
  await addMessage(stage.deps, { session_id: untitled.id, content: 'what are cairns?', principal: alice })
  await expect.poll(async () => (await stage.store.sessions.get(untitled.id))?.title).toBe('Notes on cairns')
  await harness.idle()
})

test('a title that a person sets while one is generated stays', async () => {
  const title = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: {
      rules: [{ when: { system: 'name conversations' }, answer: say('Found') }, { answer: say('hello') }],
    },
    hold: nth => (nth === 2 ? title.promise : undefined),
  })
  const untitled = await createSession(stage.deps, ['assistant'], { principal: alice })
  const harness = stage.start()
  await addMessage(stage.deps, { session_id: untitled.id, content: 'hi', principal: alice })
  await stage.server.requested(2)
  await renameSession(stage.deps, untitled.id, 'Given')
  title.resolve()
  await harness.idle()
  expect((await stage.store.sessions.get(untitled.id))?.title).toBe('Given')
})

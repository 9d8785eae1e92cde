import { archiveSession, pauseSession, resumeSession, retrySession, stopSession } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { call, say, setStage, typesOf } from './stage.ts'

const hanging = {
  rules: [
    { when: { user: 'again' }, answer: say('hello again') },
    { answer: { text: 'I begin', hang: true as const } },
  ],
}

test('a stop ends a running model call at once and leaves the session active', async () => {
  await using stage = await setStage({ scenario: hanging })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('llm.delta')
  const session = await stopSession(stage.deps, stage.session_id)
  expect(session.status).toBe('active')
  await expect(stage.server.requests[0]?.ended).resolves.toBe('left')
  await harness.idle()
  expect((await stage.events()).at(-1)?.type).toBe('session.stopped')

  await stage.send('again')
  await stage.next('session.complete')
  expect(typesOf(await stage.events()).slice(3)).toEqual([
    'session.stopped',
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
})

/** Promise 11.4: A stopped turn starts no further tool. */
test('a stop during a tool is followed by no tool.call of that turn, not even in the next turn', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { user: 'next' }, answer: say('on we go') },
        {
          answer: {
            tool_calls: [
              { name: 'hang', arguments: { value: '1' } },
              { name: 'note', arguments: { value: 'never' } },
            ],
          },
        },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call')
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  await stage.send('next')
  await stage.next('session.complete')

  const events = await stage.events()
  const stopped = events.findIndex(event => event.type === 'session.stopped')
  expect(events.slice(stopped).map(event => event.type)).not.toContain('tool.call')
  expect(stage.ran).toEqual(['hang:1'])
  const results = events
    .filter(event => event.type === 'tool.result')
    .map(event => JSON.parse(event.data.content))
  expect(results).toEqual([
    expect.objectContaining({ outcome: 'unknown' }),
    { error: expect.stringContaining('not started') },
  ])
})

/** Promise 6.3: A paused turn resumes with its `turn_id` and repeats no call. */
test('a paused turn continues under its turn_id when resumed, and repeats no call', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { tool: 'hang' }, answer: say('done') },
        { steps: [call('note', 'once'), { tool_calls: [{ name: 'hang', arguments: { value: '1' } }] }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('tool.call', 2)
  await pauseSession(stage.deps, stage.session_id)
  await harness.idle()
  expect(await stage.session()).toMatchObject({ status: 'paused', lease: null })
  expect((await stage.events()).at(-1)?.type).toBe('session.pause')

  await resumeSession(stage.deps, stage.session_id)
  await stage.next('session.complete')
  const events = await stage.events()
  expect(stage.ran).toEqual(['note:once', 'hang:1'])
  expect(
    new Set(events.filter(event => event.type === 'llm.request').map(event => event.data.turn_id)).size,
  ).toBe(1)
  expect(events.filter(event => event.type === 'harness.recovered')).toEqual([])
})

test('a paused session accepts a message and answers it when resumed', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('hi') }] } })
  await stage.send('one')
  await pauseSession(stage.deps, stage.session_id)
  const harness = stage.start()
  await stage.send('two')
  await harness.idle()
  expect(typesOf(await stage.events())).toEqual(['user.message', 'session.pause', 'user.message'])
  await resumeSession(stage.deps, stage.session_id)
  await stage.next('session.complete')
  expect(stage.server.requests[0]?.body.messages.map(message => message.content).slice(1)).toEqual([
    'one',
    'two',
  ])
})

test('an archived session stops at once', async () => {
  await using stage = await setStage({ scenario: hanging })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('llm.request')
  await archiveSession(stage.deps, await stage.session())
  await harness.idle()
  expect(await stage.session()).toMatchObject({ status: 'archived', lease: null })
  expect((await stage.events()).at(-1)?.type).toBe('session.stopped')
})

test('a retry runs a failed session again', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [{ times: 1, answer: { error: { status: 400, message: 'bad' } } }, { answer: say('better') }],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.next('session.fail')
  expect((await stage.session()).status).toBe('failed')
  await retrySession(stage.deps, stage.session_id)
  await stage.next('session.complete')
  expect((await stage.session()).status).toBe('completed')
})

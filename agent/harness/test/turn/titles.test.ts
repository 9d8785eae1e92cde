/** Titles that are set outside the turn (contract 14.13). */
import { addMessage, createSession, renameSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import type { ScenarioInput } from '@cairn/scripted-model'
import { alice, readLog, say, setStage, typesOf } from './stage.ts'

const NAMES = { system: 'You name conversations' }

/** Two turns of a session that was created without a title, or with one. */
async function converse(naming: ScenarioInput['rules'][number], title?: string) {
  await using stage = await setStage({ scenario: { rules: [naming, { answer: say('Under the hedge.') }] } })
  const harness = stage.start()
  const { id } = await createSession(stage.deps, ['assistant'], {
    principal: alice,
    ...(title === undefined ? {} : { title }),
  })
  for (const content of ['Where is the border?', 'And now?']) {
    await addMessage(stage.deps, { session_id: id, content, principal: alice })
    await harness.idle()
  }
  return {
    events: await readLog(stage.store, id),
    session: await stage.store.sessions.get(id),
    problems: await stage.store.check(),
  }
}

/** Promise 7.13: A session gets a title from its first message at once and from a model after the turn. */
test('a session gets a title from its first message at once and from a model after the turn', async () => {
  const { events, session, problems } = await converse({ when: NAMES, answer: say('"Border and hedge."') })
  expect(events.flatMap(event => (event.type === 'session.title_updated' ? [event.data] : []))).toEqual([
    { title: 'Where is the border?', provisional: true },
    { title: 'Border and hedge' },
  ])
  const types = typesOf(events).filter(type => !type.startsWith('llm.delta'))
  expect(types.indexOf('session.title_updated')).toBeLessThan(types.indexOf('llm.response'))
  expect(types.lastIndexOf('session.title_updated')).toBeGreaterThan(types.indexOf('session.complete'))
  expect(session?.title).toBe('Border and hedge')
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(problems).toEqual([])
})

test('a model call that fails to name the session leaves the title of the first message', async () => {
  const { events, session } = await converse({
    when: NAMES,
    answer: { error: { status: 400, message: 'no' } },
  })
  expect(session).toMatchObject({ title: 'Where is the border?', status: 'completed' })
  expect(typesOf(events)).not.toContain('session.fail')
  expect(typesOf(events).filter(type => type === 'session.title_updated')).toHaveLength(1)
})

/** Promise 7.13: A session of commands alone is named by its first message. */
test('a session of commands alone is named by its first message', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('never') }] } })
  const { id } = await createSession(stage.deps, ['assistant'], { principal: alice })
  const harness = stage.start()
  for (const content of ['/help', '/goal']) {
    await addMessage(stage.deps, { session_id: id, content, principal: alice })
    await harness.idle()
  }
  expect((await stage.store.sessions.get(id))?.title).toBe('/help')
  const events = await readLog(stage.store, id)
  expect(typesOf(events).filter(type => type === 'session.title_updated')).toHaveLength(1)
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(stage.server.requests).toEqual([])
})

test('a title set at creation stays', async () => {
  const { events, session } = await converse({ when: NAMES, answer: say('Another') }, 'Mine')
  expect(session?.title).toBe('Mine')
  expect(typesOf(events)).not.toContain('session.title_updated')
})

/** Promise 7.13: A title that is missing after a crash is created after the next turn. */
test('a title that a runner was stopped from generating is generated after the next turn', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [{ when: NAMES, answer: say('Border and hedge') }, { answer: say('Under the hedge.') }],
    },
    // The second request is for the title, and its runner stops before the answer arrives.
    hold: nth => (nth === 2 ? new Promise(() => undefined) : undefined),
  })
  const { id } = await createSession(stage.deps, ['assistant'], { principal: alice })
  const titleOf = async () => (await stage.store.sessions.get(id))?.title
  const first = stage.start()
  await addMessage(stage.deps, { session_id: id, content: 'Where is the border?', principal: alice })
  await stage.server.requested(2)
  await first.stop()
  expect(await titleOf()).toBe('Where is the border?')
  const second = stage.start()
  await addMessage(stage.deps, { session_id: id, content: 'And now?', principal: alice })
  await expect.poll(titleOf).toBe('Border and hedge')
  await second.idle()
})

/** Promise 7.13: A title set by a person is never replaced, even if it equals the provisional one. */
test('a title that a person sets while a model is asked stays, even if it equals the provisional one', async () => {
  const naming = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: {
      rules: [{ when: NAMES, answer: say('Border and hedge') }, { answer: say('Under the hedge.') }],
    },
    hold: nth => (nth === 2 ? naming.promise : undefined),
  })
  const { id } = await createSession(stage.deps, ['assistant'], { principal: alice })
  const harness = stage.start()
  await addMessage(stage.deps, { session_id: id, content: 'Where is the border?', principal: alice })
  await stage.server.requested(2)
  await renameSession(stage.deps, id, 'Where is the border?')
  naming.resolve()
  await harness.idle()
  expect((await stage.store.sessions.get(id))?.title).toBe('Where is the border?')
  const named = (await readLog(stage.store, id)).filter(({ type }) => type === 'session.title_updated')
  expect(named.map(({ data }) => data)).toEqual([
    { title: 'Where is the border?', provisional: true },
    { title: 'Where is the border?' },
  ])
  expect(await stage.store.check()).toEqual([])
})

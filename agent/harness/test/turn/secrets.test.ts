import { REDACTED } from '@cairn/log'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { call, say, setStage } from './stage.ts'

const secret = `sk-${'a1B2'.repeat(8)}`
const scenario = { rules: [{ steps: [call('note', `key ${secret}`), say('done')] }] }

/** Promise 2: A tool receives the secret that the model wrote, and the log never contains it. */
test('a tool gets the secret that the model wrote, and the log never contains it', async () => {
  await using stage = await setStage({ scenario })
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  expect(stage.ran).toEqual([`note:key ${secret}`])
  const log = JSON.stringify(await stage.events())
  expect(log).not.toContain(secret)
  expect(log).toContain(`key ${REDACTED}`)
})

test('a call whose secret was lost with its runner fails instead of running with the placeholder', async () => {
  const answer = Promise.withResolvers<void>()
  await using stage = await setStage({
    scenario: { rules: [{ steps: [call('note', `key ${secret}`), say('understood')] }] },
    hold: () => answer.promise,
  })
  const first = stage.start()
  await stage.send('go')
  await stage.server.requested(1)
  // Drained after the answer, before the call.
  const stopped = first.stop()
  answer.resolve()
  await stopped
  expect((await stage.events()).at(-1)?.type).toBe('llm.response')
  stage.start()
  await stage.next('session.complete')
  expect(stage.ran).toEqual([])
  const events = await stage.events()
  expect(events.find(event => event.type === 'tool.result')?.data).toMatchObject({
    elapsed_ms: 0,
    content: expect.stringContaining('repeat the call'),
  })
  expect(checkHistory(events, { settled: true })).toEqual([])
})

/** Promise 2: A streamed secret appears in no chunk and in no two joined chunks. */
test('a secret that the model streams in pieces is in no chunk and in no joined chunks', async () => {
  await using stage = await setStage({
    scenario: {
      pace_ms: 2,
      chunk_chars: 3,
      rules: [{ answer: say(`The key is ${secret}, as you asked. ${'And so on. '.repeat(10)}`) }],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const deltas = (await stage.events()).filter(event => event.type === 'llm.delta')
  const streamed = deltas.map(({ data }) => data.content ?? '').join('')
  expect(deltas.length).toBeGreaterThan(3)
  expect(streamed).not.toContain(secret.slice(3, 19))
  expect(streamed).toBe(`The key is ${REDACTED}, as you asked. ${'And so on. '.repeat(10)}`)
})

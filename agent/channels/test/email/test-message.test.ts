/**
 * The test message with which an administrator tries an email connection: it starts a thread and can be
 * answered.
 */
import { planTestMessage } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { ORG, sessionsOf } from '../bench.ts'
import { startEmail } from './start-email.ts'

const DISCLOSED = { disclosure: { level: 'basic', operator: 'Example Ltd' } } as const

async function tryOut(to: string) {
  const bench = await startEmail({ config: DISCLOSED })
  await bench.open()
  const { store } = bench
  const connection = (await store.channels.listConnections(ORG))[0]!
  const key = await planTestMessage({ store, now: Date.now }, connection, to)
  const state = async () => (await store.channels.deliveryOfKey(connection.id, key))?.state
  return { ...bench, key, connection, state }
}

test('the test message arrives as its own email after the disclosure, and a reply starts a conversation', async () => {
  const { post, store, answer, shown, state } = await tryOut('Ann@Example.com')
  await expect.poll(state).toBe('sent')
  const [mail] = post.got
  expect(mail?.recipients).toEqual(['ann@example.com'])
  expect(mail).toMatchObject({
    subject: 'Test message',
    text: expect.stringMatching(
      /an AI system run by Example Ltd[^]*This is a test message of the channel mail\./,
    ),
  })
  expect([mail?.inReplyTo, mail?.references]).toEqual([undefined, undefined])
  expect(mail?.headers).toContainEqual(
    expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
  )
  answer('it works')
  await expect.poll(() => shown().at(-1)).toContain('echo: it works')
  expect(await sessionsOf(store)).toHaveLength(1)
})

test('an invalid address is rejected with the reason, and nothing is sent', async () => {
  const { post, store, connection, key, state } = await tryOut('everybody, at once')
  await expect.poll(state).toBe('dead')
  expect((await store.channels.deliveryOfKey(connection.id, key))?.error).toBe(
    'an email goes to one address, such as ann@example.org',
  )
  expect(post.got).toEqual([])
})

/** Senders without permission, and senders who impersonate others, change nothing and reach no session. */
import { randomUUID } from 'node:crypto'
import { createLinkCode } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { type Bench, logOf, makeBench, ORG, call, say, sessionsOf } from '../bench.ts'
import { signed } from '../signed.ts'

const nothingCame = async ({ store }: Bench): Promise<void> => {
  expect(await sessionsOf(store)).toEqual([])
  const [connection] = await store.channels.listConnections(ORG)
  expect(await store.channels.nextInbound(connection!.id, 10)).toEqual([])
}

/** Promise 15.6: A forged, altered or stale webhook request is rejected. */
test('a forged, altered, stale or foreign signature is rejected, and no row is written', async () => {
  const bench = await makeBench('sqlite')
  const channels = await bench.start()
  const send = (message: { headers: Headers; raw: Uint8Array }) =>
    call(channels, message).then(
      () => 'taken',
      (error: { code?: string }) => error.code ?? 'error',
    )
  const outcomes: string[] = []
  const attack = async (change: (message: ReturnType<typeof signed>) => void, said = {}) => {
    const message = signed({ text: 'let me in', ...said })
    change(message)
    outcomes.push(await send(message))
  }
  const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const same = () => undefined
  await attack(same, { secret: other })
  await attack(same, { at: new Date(Date.now() - 6 * 60_000) })
  await attack(same, { at: new Date(Date.now() + 6 * 60_000) })
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    await attack(({ headers }) => headers.delete(name))
    await attack(({ headers }) => headers.set(name, ''))
    await attack(({ headers }) => headers.set(name, `${headers.get(name)}0`))
  }
  await attack(({ headers }) => headers.set('webhook-signature', 'v1,'))
  await attack(({ headers }) => headers.set('webhook-signature', `v2,${headers.get('webhook-signature')}`))
  for (let at = 0; at < rounds(40, 2000); at++)
    await attack(({ raw }) => {
      const place = Math.floor(Math.random() * raw.length)
      raw[place] = raw[place]! ^ (1 << Math.floor(Math.random() * 8))
    })
  const unexpected = outcomes.filter(outcome => outcome !== 'bad_signature')
  tally('webhook signatures', outcomes.length, unexpected.length)
  expect(unexpected).toEqual([])
  await nothingCame(bench)
})

/** Promise 15.3: A platform event is accepted once. */
test('a repeated webhook request is accepted once, even with concurrent repetitions', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  const message = signed({ text: 'once' })
  const again = () => call(channels, message)
  await Promise.all(Array.from({ length: 20 }, again))
  await expect.poll(() => callback.taken).toHaveLength(1)
  await again()
  await say(channels, { text: 'later' })
  await expect.poll(() => callback.taken).toHaveLength(2)
  const [session] = await sessionsOf(store)
  const messages = (await logOf(store, session!.id)).filter(({ type }) => type === 'user.message')
  expect(messages).toHaveLength(2)
})

/** Promise 15.6: A stranger reaches no session through a webhook. */
test.each(['linked', 'allowlist'] as const)(
  'with access %s a stranger gets link instructions once, and reaches no session',
  async access => {
    const bench = await makeBench('sqlite', { access, allow: ['U2'] })
    const { callback, start, store } = bench
    const channels = await start()
    for (const text of ['hello', '/status', '/new', '/stop', 'again']) await say(channels, { text })
    await expect.poll(() => callback.taken).toHaveLength(1)
    expect(callback.taken[0]).toMatchObject({ type: 'notice', text: expect.stringContaining('/link CODE') })
    await say(channels, { text: 'and I?', user: 'U2', conversation: 'C2' })
    await expect.poll(() => callback.taken).toHaveLength(2)
    const sessions = await sessionsOf(store)
    expect(sessions).toHaveLength(access === 'allowlist' ? 1 : 0)
  },
)

/** Promise 15.6: A pairing code links one account, once. */
test('only a valid code links an account, once; wrong codes are counted, and the fifth is the last', async () => {
  const bench = await makeBench('sqlite', { access: 'linked' })
  const { store, users, callback, start, advance } = bench
  const channels = await start()
  const codeOf = async (id: string) =>
    (await createLinkCode({ store, now: Date.now }, { org_id: ORG, id })).code
  const told = async (count: number) => {
    await expect.poll(() => callback.seen().length).toBe(count)
    return callback.seen().at(-1)?.text
  }
  const stale = await codeOf(users.ann)
  const code = await codeOf(users.ann)
  await say(channels, { text: `/link ${stale}` })
  expect(await told(1)).toContain('Invalid code')
  await say(channels, { text: `/link ${code.toLowerCase()}` })
  expect(await told(2)).toBe('This account is now linked to ann.')
  await say(channels, { text: 'hello' })
  expect(await told(3)).toBe('echo: hello')
  const [session] = await sessionsOf(store)
  expect(session).toMatchObject({ created_by: users.ann, created_by_kind: 'user' })

  // The same code from another sender, and guesses.
  await say(channels, { text: `/link ${code}`, user: 'U9', conversation: 'C9' })
  expect(await told(4)).toContain('Invalid code')
  for (let at = 0; at < 6; at++)
    await say(channels, { text: '/link AAAA-AAAA', user: 'U9', conversation: 'C9' })
  expect(await told(8)).toContain('Invalid code')
  const good = await codeOf(users.bob)
  await say(channels, { text: `/link ${good}`, user: 'U9', conversation: 'C9' })
  await say(channels, { text: 'hello?', user: 'U9', conversation: 'C9' })
  const [connection] = await store.channels.listConnections(ORG)
  await expect.poll(() => store.channels.nextInbound(connection!.id, 10)).toEqual([])
  advance(61 * 60_000)
  await say(channels, { text: `/link ${good}`, user: 'U9', conversation: 'C9' })
  expect(await told(9)).toContain('Invalid code')
  expect(await store.channels.listIdentities(users.bob)).toEqual([])
  expect(await sessionsOf(store)).toHaveLength(1)
})

test('an unlinked sender does not continue in the session of the user', async () => {
  const { store, users, callback, start } = await makeBench('sqlite')
  const channels = await start()
  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.ann })
  await say(channels, { text: `/link ${code}` })
  await say(channels, { text: 'mine' })
  await expect.poll(() => callback.seen()).toHaveLength(2)
  const [identity] = await store.channels.listIdentities(users.ann)
  expect(await store.channels.deleteIdentity(users.ann, identity!.id)).toBe(true)
  await say(channels, { text: 'still mine?' })
  await expect.poll(() => callback.seen()).toHaveLength(3)
  const sessions = await sessionsOf(store)
  expect(sessions.map(({ created_by_kind }) => created_by_kind).toSorted()).toEqual([
    'service_account',
    'user',
  ])
})

test('a flooding stranger is warned once, and messages beyond the limit reach no session', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  for (let at = 0; at < 30; at++) await say(channels, { text: `m${at}`, id: randomUUID() })
  await expect.poll(() => callback.seen().some(({ type }) => type === 'notice')).toBe(true)
  const [connection] = await store.channels.listConnections(ORG)
  await expect.poll(() => store.channels.nextInbound(connection!.id, 10)).toEqual([])
  const [session] = await sessionsOf(store)
  const taken = session ? (await logOf(store, session.id)).filter(({ type }) => type === 'user.message') : []
  expect(taken.length).toBeLessThanOrEqual(20)
})

test('delayed messages count at their send time, so a burst loses only what exceeded the limit', async () => {
  const { store, start } = await makeBench('sqlite')
  const channels = await start()
  const [connection] = await store.channels.listConnections(ORG)
  await channels.stop()
  expect(await store.channels.acquire(connection!.id, 'consume', 'other', 60_000)).not.toBeNull()
  const next = await start()
  for (let at = 0; at < 25; at++) await say(next, { text: `m${at}` })
  await store.channels.release(connection!.id, 'consume', 'other')
  await expect.poll(() => store.channels.nextInbound(connection!.id, 10), { timeout: 10_000 }).toEqual([])
  const [session] = await sessionsOf(store)
  const taken = session ? (await logOf(store, session.id)).filter(({ type }) => type === 'user.message') : []
  expect(taken.map(({ data }) => (data as { content: string }).content)).toEqual(
    Array.from({ length: 20 }, (_, at) => `m${at}`),
  )
})

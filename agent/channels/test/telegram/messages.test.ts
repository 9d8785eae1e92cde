/** What people send on Telegram, as messages of the session: albums, answers, forwards, /start, unknown kinds. */
import { expect, onTestFinished, test } from 'vitest'
import { ALBUM_MS } from '../../src/album.ts'
import { type Bench, logOf, makeBench, sessionsOf } from '../bench.ts'
import { type Death, mortalStore } from '../mortal-store.ts'
import { ANN, BOB, type FakeTelegram, GROUP, startFakeTelegram, TOKEN } from './fake-telegram.ts'

type Fields = Record<string, unknown>
const env = { TG_TOKEN: TOKEN }

async function makeTelegram(): Promise<Made> {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const tg = { platform: 'telegram', token_env: 'TG_TOKEN', access: 'open', agent: 'greeter' } as const
  const only = { tg: { ...tg, api_root: telegram.url } }
  return { ...(await makeBench('sqlite', {}, {}, { only, env, echo: false })), telegram }
}

async function messagesOf({ store }: Bench): Promise<Fields[]> {
  const logs = await Promise.all((await sessionsOf(store)).map(({ id }) => logOf(store, id)))
  return logs.flat().flatMap(({ type, data }) => (type === 'user.message' ? [data as Fields] : []))
}
const namesOf = (message: Fields | undefined): unknown[] =>
  ((message?.['attachments'] ?? []) as { filename: string }[]).map(({ filename }) => filename)

type Made = Bench & { telegram: FakeTelegram }
/** Three pictures of one album, the first with a caption. */
const sendPictures = ({ telegram }: Made, more: Fields = {}) =>
  ['a', 'b', 'c'].map(id => {
    telegram.files.set(id, Buffer.from(id))
    const caption = id === 'a' ? { caption: '@cairn_bot what are these?' } : {}
    return telegram.say('', { media_group_id: 'g1', photo: [{ file_id: id }], ...caption, ...more })
  })

async function waitingOf({ store: { channels } }: Bench, chat = ANN.id) {
  const [connection] = await channels.listConnections('org_1')
  return channels.waitingInbound(connection!.id, `${chat}`, 10)
}

/** Sends them, and waits until all of their rows are stored. */
async function sendAlbum(bench: Made, more: Fields = {}) {
  const updates = sendPictures(bench, more)
  const { id } = (more['chat'] ?? ANN) as { id: number }
  await expect.poll(async () => (await waitingOf(bench, id)).length).toBe(3)
  return updates
}

test('an album is one message with all of its pictures, before the text that follows it', async () => {
  const bench = await makeTelegram()
  await bench.start()
  await sendAlbum(bench)
  bench.telegram.say('and this?')
  expect(await messagesOf(bench)).toEqual([])
  bench.advance(ALBUM_MS)
  await expect
    .poll(async () => (await messagesOf(bench)).map(message => [message['content'], namesOf(message)]))
    .toEqual([
      ['what are these?', ['photo-100.jpg', 'photo-101.jpg', 'photo-102.jpg']],
      ['and this?', []],
    ])
})

test('in a group the caption of one picture addresses the whole album', async () => {
  const bench = await makeTelegram()
  await bench.start()
  await sendAlbum(bench, { chat: GROUP, from: BOB })
  bench.advance(ALBUM_MS)
  await expect.poll(() => messagesOf(bench)).toHaveLength(1)
  expect(namesOf((await messagesOf(bench))[0])).toHaveLength(3)
})

test.each([
  { call: 'receive', nth: 1, when: 'after' },
  { call: 'deferInbound', nth: 1, when: 'after' },
  { call: 'commit', nth: 1, when: 'before' },
  { call: 'commit', nth: 1, when: 'after' },
] satisfies Death[])('a process that dies $when $call makes no second message of an album', async death => {
  const bench = await makeTelegram()
  const mortal = mortalStore(bench.store, death)
  const first = await bench.start(mortal.store)
  sendPictures(bench)
  await expect
    .poll(async () => {
      // Only once all of them are stored and one was looked at too early: an album that is complete at the
      // first look is not deferred.
      const isDeferred = mortal.calls.includes('deferInbound')
      if (isDeferred && (await waitingOf(bench)).length === 3) bench.advance(ALBUM_MS)
      return mortal.isDead()
    })
    .toBe(true)
  await first.stop()
  bench.advance(31_000)
  await bench.start()
  const text = bench.telegram.say('and this?') as unknown as { message: { message_id: number } }
  const { channels } = bench.store
  const [connection] = await channels.listConnections('org_1')
  await expect
    .poll(async () => channels.inboundOf(connection!.id, `m:7:${text.message.message_id}`))
    .not.toBeNull()
  bench.advance(ALBUM_MS)
  await expect
    .poll(async () => (await messagesOf(bench)).map(namesOf))
    .toEqual([['photo-100.jpg', 'photo-101.jpg', 'photo-102.jpg'], []])
})

test('an edited caption of an album is an edit of its message', async () => {
  const bench = await makeTelegram()
  await bench.start()
  const [first] = await sendAlbum(bench)
  bench.advance(ALBUM_MS)
  await expect.poll(() => messagesOf(bench)).toHaveLength(1)
  const { message } = first as unknown as { message: Fields }
  bench.telegram.push({ edited_message: { ...message, caption: 'where is this?', edit_date: 2 } })
  await expect
    .poll(async () => (await messagesOf(bench)).at(-1))
    .toMatchObject({
      content: '(edited) where is this?',
      metadata: { edit_of: expect.any(Number) },
    })
})

test('the agent reads what a message answers, and a forwarded message with its author', async () => {
  const bench = await makeTelegram()
  await bench.start()
  const answered = { message_id: 4, date: 1, chat: { id: 7 }, from: BOB, text: 'Cairns are old.' }
  bench.telegram.say('expand this', { reply_to_message: answered, quote: { text: 'old', position: 11 } })
  await expect
    .poll(() => messagesOf(bench))
    .toMatchObject([
      {
        content: 'expand this',
        metadata: { reply_to: { author: 'Bob', text: 'Cairns are old.', selected: 'old' } },
      },
    ])
  bench.telegram.say('/stop', { forward_origin: { type: 'user', date: 1, sender_user: BOB } })
  await expect
    .poll(async () => (await messagesOf(bench)).at(-1))
    .toMatchObject({
      content: '[Forwarded message, written by Bob]\n> /stop',
    })
})

test('/start is greeted and reaches no session, with and without the parameter of a link', async () => {
  const bench = await makeTelegram()
  await bench.start()
  for (const text of ['/start', '/start campaign7', '/START']) bench.telegram.say(text)
  await expect
    .poll(() => bench.telegram.messages.map(({ text }) => text))
    .toEqual(Array.from({ length: 3 }, () => expect.stringContaining('Send me a message')))
  expect(await sessionsOf(bench.store)).toEqual([])
})

test('a message of an unknown kind or without content is answered once and logged', async () => {
  const bench = await makeTelegram()
  await bench.start()
  bench.telegram.say('', { hologram: {} })
  bench.telegram.say('@cairn_bot', { chat: GROUP })
  await expect
    .poll(() => bench.telegram.messages.map(({ text }) => text))
    .toEqual([
      expect.stringContaining('messages of this kind (hologram)'),
      expect.stringContaining('no text or file'),
    ])
  expect(await sessionsOf(bench.store)).toEqual([])
  expect(bench.lines.filter(line => line.includes('nothing that can be read'))).toHaveLength(2)
})

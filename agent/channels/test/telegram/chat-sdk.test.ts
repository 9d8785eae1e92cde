/**
 * Telegram updates, parsed by Cairn and by the Chat SDK's adapter; docs/channels/telegram.md lists
 * differences.
 */
import { createTelegramAdapter } from '@chat-adapter/telegram'
import type { Update } from 'grammy/types'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { parseUpdate } from '../../src/telegram/parse.ts'
import { type Heard, SILENT, startRecorder } from '../chat-sdk-recorder.ts'
import { ANN, BOB, DIRECT, GROUP, startFakeTelegram, TOKEN } from './fake-telegram.ts'

const ME = { id: 4242, username: 'cairn_bot' }
const SECRET = 'a-secret'
type Fields = Record<string, unknown>

let read: (update: unknown) => Promise<Heard[]>
beforeAll(async () => {
  const telegram = await startFakeTelegram()
  const adapter = createTelegramAdapter({
    botToken: TOKEN,
    apiUrl: telegram.url,
    mode: 'webhook',
    secretToken: SECRET,
    logger: SILENT,
  })
  const hear = await startRecorder(adapter)
  read = update =>
    hear(
      new Request('https://bot.example/webhook', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': SECRET },
        body: JSON.stringify(update),
      }),
    )
  return telegram.close
})
const ours = (update: unknown) => parseUpdate(update as Update, ME, 'mention')
const update = (more: Fields, kind = 'message'): Fields => ({
  update_id: 1,
  [kind]: { message_id: 5, date: 1_700_000_000, chat: DIRECT, from: ANN, ...more },
})
const entity = (type: string, length: number, offset = 0): Fields => ({ type, offset, length })
const file = (more: Fields = {}): Fields => ({ file_id: 'f', file_unique_id: 'u', file_size: 9, ...more })
const TOPIC = { chat: GROUP, message_thread_id: 44, is_topic_message: true }

/** `threadId` is telegram:<chat>, and in a topic telegram:<chat>:<topic>. */
const shown = (inbound: ReturnType<typeof ours>): Fields => ({
  user: inbound?.source.user_id,
  thread: ['telegram', inbound?.source.chat_id, inbound?.source.thread_id].filter(Boolean).join(':'),
})

const MESSAGES: Record<string, Fields> = {
  'a direct message': { text: 'hello *there*' },
  'a message of a user without a last name': { from: BOB, text: 'hello' },
  'a message in a topic': { ...TOPIC, text: 'hello' },
  'a reply to the bot in a group': {
    chat: GROUP,
    text: 'yes',
    reply_to_message: { message_id: 4, date: 1, chat: GROUP, from: { ...ME, is_bot: true }, text: '?' },
  },
  'a picture with a caption': { photo: [file({ file_size: 1 }), file()], caption: 'look' },
  'a document': { document: file({ file_name: 'a.txt', mime_type: 'text/plain' }), caption: 'read' },
  'a voice message': { voice: file({ duration: 1, mime_type: 'audio/ogg' }), caption: 'listen' },
  'an animation, which Telegram also sends as a document': {
    animation: file({ mime_type: 'video/mp4' }),
    document: file(),
    caption: 'x',
  },
  'a video note': { video_note: file({ length: 10, duration: 1 }) },
  'an audio file': { audio: file({ file_name: 'a.mp3', mime_type: 'audio/mpeg' }), caption: 'x' },
  'a message of a bot': { from: { ...BOB, is_bot: true }, text: 'hello' },
}

test.each(Object.entries(MESSAGES))('Cairn and the Chat SDK read %s alike', async (_name, more) => {
  const [theirs] = await read(update(more))
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  const { message, threadId } = theirs
  const inbound = ours(update(more))
  expect({ ...shown(inbound), text: inbound?.text, name: inbound?.source.user_name }).toEqual({
    user: message.author.userId,
    thread: threadId,
    text: message.text,
    name: message.author.fullName,
  })
  expect(message.id).toBe(`${inbound?.source.chat_id}:${inbound?.source.ts}`)
  expect(inbound?.ignore === 'bot').toBe(message.author.isBot)
  expect((inbound?.files ?? []).map(({ ref, size }) => [ref['file_id'], size])).toEqual(
    message.attachments.map(({ fetchMetadata, size }) => [fetchMetadata?.['fileId'], size]),
  )
})

test('Cairn and the Chat SDK recognize an edited message', async () => {
  const edited = update({ text: 'better', edit_date: 1_700_000_100 }, 'edited_message')
  const [theirs] = await read(edited)
  const inbound = ours(edited)
  expect(theirs).toMatchObject({ kind: 'message', message: { text: 'better', metadata: { edited: true } } })
  expect(inbound).toMatchObject({ text: 'better', edits: 'm:7:5' })
})

test.each([
  ['/stop', DIRECT, 5],
  ['/link ABCD-EFGH', DIRECT, 5],
  ['/stop@cairn_bot', GROUP, 15],
  ['/new@Cairn_Bot now', GROUP, 14],
])('Cairn and the Chat SDK recognize the command %s, with the same arguments', async (text, chat, length) => {
  const said = update({ text, chat, entities: [entity('bot_command', length)] })
  const [theirs] = await read(said)
  if (theirs?.kind !== 'command') throw new Error(`it heard ${theirs?.kind}`)
  const inbound = ours(said)
  expect(inbound?.text).toBe([theirs.command, theirs.text].filter(Boolean).join(' '))
  expect(shown(inbound)).toEqual({ user: theirs.userId, thread: theirs.channelId })
  expect(inbound?.ignore).toBeUndefined()
})

test('a button action has the sender, chat and value that the Chat SDK reads', async () => {
  const at = { message_id: 9, date: 1, chat: DIRECT, text: '?' }
  const press = {
    update_id: 1,
    callback_query: { id: 'q', from: ANN, message: at, chat_instance: 'x', data: 'abc:0' },
  }
  const [theirs] = await read(press)
  const inbound = ours(press)
  expect(theirs).toEqual({
    kind: 'action',
    actionId: inbound?.press,
    value: inbound?.press,
    userId: inbound?.source.user_id,
    threadId: `telegram:${inbound?.source.chat_id}`,
  })
})

/** Intended differences between both. */
const DIFFERENT: [string, Fields, Fields, Fields][] = [
  [
    'the Chat SDK converts formatting to Markdown, and Cairn keeps the text as typed',
    { text: 'so bold', entities: [entity('bold', 4, 3)] },
    { text: 'so **bold**' },
    { text: 'so bold' },
  ],
  [
    'the Chat SDK keeps the mention of the bot in the text, and Cairn removes it',
    { chat: GROUP, text: '@cairn_bot hello', entities: [entity('mention', 10)] },
    { text: '@cairn_bot hello', isMention: true },
    { text: 'hello' },
  ],
  [
    'the Chat SDK reports a group message without a mention, and Cairn drops it',
    { chat: GROUP, text: 'among ourselves' },
    { text: 'among ourselves', isMention: false },
    { ignore: 'not mentioned' },
  ],
  [
    'the Chat SDK reads a sticker as its emoji, and Cairn says that it is a sticker',
    { sticker: file({ emoji: '👍', type: 'regular', width: 1, height: 1 }) },
    { text: '👍' },
    { text: '[Sticker: 👍]' },
  ],
  [
    'the Chat SDK gives an answer in a group without topics a thread, and Cairn none',
    { chat: GROUP, message_thread_id: 44, text: '@cairn_bot hello' },
    { threadId: 'telegram:-100:44' },
    { source: { thread_id: null } },
  ],
]

test.each(DIFFERENT)('%s', async (_name, more, wanted, wantedOfUs) => {
  const [theirs] = await read(update(more))
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  expect({ ...theirs.message, text: theirs.message.text, threadId: theirs.threadId }).toMatchObject(wanted)
  expect(ours(update(more))).toMatchObject(wantedOfUs)
})

test('the Chat SDK rejects a request with another secret', async () => {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const adapter = createTelegramAdapter({
    botToken: TOKEN,
    apiUrl: telegram.url,
    mode: 'webhook',
    secretToken: 'other',
    logger: SILENT,
  })
  const hear = await startRecorder(adapter)
  const body = JSON.stringify(update({ text: 'x' }))
  const headers = { 'x-telegram-bot-api-secret-token': SECRET }
  await expect(hear(new Request('https://bot.example/', { method: 'POST', headers, body }))).rejects.toThrow(
    '401',
  )
})

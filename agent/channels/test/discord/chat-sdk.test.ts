/**
 * Discord payloads, parsed by Cairn and by the Chat SDK's adapter; docs/channels/discord.md lists
 * differences.
 */
import { createDiscordAdapter } from '@chat-adapter/discord'
import type { GatewayDispatchPayload } from 'discord-api-types/v10'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { channelOf, parseDispatch } from '../../src/discord/parse.ts'
import { type Heard, SILENT, startRecorder } from '../chat-sdk-recorder.ts'
import { BOB, DIRECT, type FakeDiscord, GENERAL, ME, startFakeDiscord, TOKEN } from './fake-discord.ts'

const ANN = { id: '7', username: 'ann', discriminator: '0', global_name: 'Ann', avatar: null }
type Fields = Record<string, unknown>

let discord: FakeDiscord
let hear: (request: Request) => Promise<Heard[]>
beforeAll(async () => {
  discord = await startFakeDiscord()
  hear = await startRecorder(
    createDiscordAdapter({
      botToken: TOKEN,
      applicationId: ME.id,
      apiUrl: `${discord.url}/v10`,
      webhookVerifier: () => true,
      logger: SILENT,
    }),
  )
})
afterAll(() => discord.close())

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Heard[]> =>
  hear(
    new Request('https://bot.example/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  )
/** A gateway message as a Chat SDK listener forwards it. */
const forwarded = (data: Fields): Promise<Heard[]> =>
  post({ type: 'GATEWAY_MESSAGE_CREATE', timestamp: Date.now(), data }, { 'x-discord-gateway-token': TOKEN })
function ours(t: string, d: Fields) {
  const payload = { op: 0, s: 1, t, d } as unknown as GatewayDispatchPayload
  const isThread = channelOf(payload)?.type === 11
  return parseDispatch(payload, { me: ME.id, groups: 'mention', reply_in: 'thread', isThread })
}
const said = (content: string, more: Fields = {}): Fields => discord.say(content, more)

const attachment = {
  id: '1',
  filename: 'note.txt',
  content_type: 'text/plain',
  size: 5,
  url: 'https://cdn/x',
}
const MESSAGES: Record<string, () => Fields> = {
  'a direct message': () => said('hello **there**'),
  'a message with files': () =>
    said('read', { attachments: [attachment, { ...attachment, filename: 'b.txt' }] }),
  'a message of a bot': () => said('beep', { author: { ...BOB, bot: true } }),
  'a message of a user without a display name': () => said('hi', { author: { ...BOB, global_name: null } }),
}

test.each(Object.entries(MESSAGES))('Cairn and the Chat SDK read %s alike', async (_name, make) => {
  const data = make()
  const [theirs] = await forwarded(data)
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  const { message, threadId } = theirs
  const inbound = ours('MESSAGE_CREATE', data)
  expect({
    id: inbound?.source.ts,
    text: inbound?.text,
    user: inbound?.source.user_id,
    name: inbound?.source.user_name,
    isBot: inbound?.ignore === 'bot',
    thread: `discord:@me:${inbound?.source.chat_id}`,
  }).toEqual({
    id: message.id,
    text: message.text,
    user: message.author.userId,
    name: message.author.fullName,
    isBot: message.author.isBot,
    thread: threadId,
  })
  expect(
    (inbound?.files ?? []).map(({ name, size, ref, mime_type }) => [name, size, ref['url'], mime_type]),
  ).toEqual(message.attachments.map(({ name, size, url, mimeType }) => [name, size, url, mimeType]))
})

test('Cairn and the Chat SDK start a thread at a mention in a channel, and continue it', async () => {
  const mention = said(`<@${ME.id}> hello`, { ...discord.inGuild(GENERAL), mentions: [ME] })
  const [theirs] = await forwarded(mention)
  const inbound = ours('MESSAGE_CREATE', mention)
  expect(theirs).toMatchObject({
    kind: 'message',
    threadId: `discord:900:${GENERAL}:${inbound?.conversation_key}`,
  })
  expect(inbound).toMatchObject({ conversation_key: mention['id'], target: { opens: mention['id'] } })
  const inside = said('and now?', discord.inGuild(String(mention['id'])))
  const [next] = await forwarded({ ...inside, thread: { id: mention['id'], parent_id: GENERAL } })
  expect(next).toMatchObject({ threadId: `discord:900:${GENERAL}:${String(mention['id'])}` })
  expect(ours('MESSAGE_CREATE', inside)?.conversation_key).toBe(mention['id'])
})

const interaction = (type: number, data: Fields, more: Fields = {}): Fields => ({
  id: '55',
  application_id: ME.id,
  type,
  data,
  token: 't',
  version: 1,
  channel_id: DIRECT,
  channel: { id: DIRECT, type: 1 },
  user: ANN,
  ...more,
})

test.each([
  ['/stop', { id: '1', name: 'stop', type: 1 }],
  ['/link ABCD', { id: '1', name: 'link', type: 1, options: [{ type: 3, name: 'code', value: 'ABCD' }] }],
])('the command %s has the text, sender and channel that the Chat SDK reads', async (text, data) => {
  const given = interaction(2, data)
  const [theirs] = await post(given)
  if (theirs?.kind !== 'command') throw new Error(`it heard ${theirs?.kind}`)
  const inbound = ours('INTERACTION_CREATE', given)
  expect([theirs.command, theirs.text].filter(Boolean).join(' ')).toBe(text)
  expect([inbound?.text, inbound?.source.user_id, `discord:@me:${inbound?.conversation_key}`]).toEqual([
    text,
    theirs.userId,
    theirs.channelId,
  ])
})

test('a button action has the value, sender and thread that the Chat SDK reads', async () => {
  const channel = { id: '77', type: 11, parent_id: GENERAL }
  const member = { user: ANN, nick: null, roles: [] }
  const inThread = { channel_id: '77', channel, guild_id: '900', member, user: undefined }
  const given = interaction(
    3,
    { component_type: 2, custom_id: 'abc:0' },
    { ...inThread, message: { id: '66' } },
  )
  const [theirs] = await post(given)
  if (theirs?.kind !== 'action') throw new Error(`it heard ${theirs?.kind}`)
  const inbound = ours('INTERACTION_CREATE', given)
  expect([inbound?.press, inbound?.source.user_id, inbound?.conversation_key]).toEqual([
    theirs.value,
    theirs.userId,
    theirs.threadId.split(':').at(-1),
  ])
})

/** Intended differences between both. */
const DIFFERENT: [string, Fields, Fields, Fields][] = [
  [
    'the Chat SDK keeps mentions as ids, and Cairn replaces them with names',
    { content: 'ask <@8>', mentions: [BOB] },
    { text: 'ask <@8>' },
    { text: 'ask @Bob' },
  ],
  [
    'the Chat SDK keeps the mention of the bot in the text, and Cairn removes it',
    { content: `<@${ME.id}> hello`, mentions: [ME] },
    { text: `<@${ME.id}> hello`, isMention: true },
    { text: 'hello' },
  ],
  [
    'the Chat SDK reports a server message without a mention, and Cairn drops it',
    { content: 'among ourselves', channel_id: GENERAL, guild_id: '900', channel_type: 0 },
    { text: 'among ourselves' },
    { ignore: 'not mentioned' },
  ],
  [
    'Cairn uses the nickname of the server, and the Chat SDK the display name',
    {
      content: `<@${ME.id}> x`,
      mentions: [ME],
      channel_id: GENERAL,
      guild_id: '900',
      channel_type: 0,
      member: { nick: 'Annie', roles: [] },
    },
    { author: { fullName: 'Ann' } },
    { source: { user_name: 'Annie' } },
  ],
]

test.each(DIFFERENT)('%s', async (_name, more, wanted, wantedOfUs) => {
  const data = said(String(more['content']), more)
  const [theirs] = await forwarded(data)
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  expect({ ...theirs.message, text: theirs.message.text }).toMatchObject(wanted)
  expect(ours('MESSAGE_CREATE', data)).toMatchObject(wantedOfUs)
})

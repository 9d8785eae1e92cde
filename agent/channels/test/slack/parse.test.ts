/** Slack payloads, parsed by Cairn and by the Chat SDK's adapter with the same result. */
import { parseSlackWebhookBody, verifySlackSignature } from '@chat-adapter/slack/webhook'
import { expect, test } from 'vitest'
import { parsePayload, readBody } from '../../src/slack/parse.ts'
import { verifySignature } from '../../src/slack/signature.ts'
import { plainText } from '../../src/slack/text.ts'
import { BOT, envelope, pressed, SIGNING_SECRET, signedBySlack, TEAM } from './fake-slack.ts'

const OPTIONS = { groups: 'mention', reply_in: 'thread' } as const
const message = { type: 'message', user: 'U1', ts: '1700000000.000100', team: TEAM }
const parse = (event: Record<string, unknown>, options = {}) =>
  parsePayload(envelope({ ...message, ...event }), { ...OPTIONS, ...options })

const BODIES = {
  'a direct message': envelope({ ...message, channel: 'D1', channel_type: 'im', text: 'hello' }),
  'a thread inside of a direct message': envelope({
    ...message,
    channel: 'D1',
    channel_type: 'im',
    text: 'in a thread',
    thread_ts: '1690000000.000001',
  }),
  'a mention': envelope({ ...message, type: 'app_mention', channel: 'C1', text: 'hello' }),
  'a mention in a thread': envelope({
    ...message,
    type: 'app_mention',
    channel: 'C1',
    text: 'hello again',
    thread_ts: '1690000000.000001',
  }),
}

test.each(Object.entries(BODIES))(
  '%s has the text, author, chat and thread that the Chat SDK reads',
  (_name, payload) => {
    const { raw, headers } = signedBySlack(payload)
    const theirs = parseSlackWebhookBody(Buffer.from(raw).toString(), { headers })
    const [ours] = parsePayload(readBody(raw, headers), OPTIONS)
    if (theirs.kind !== 'app_mention' && theirs.kind !== 'direct_message')
      throw new Error(`it read ${theirs.kind}`)
    expect({
      text: ours?.text,
      author: ours?.source.user_id,
      chat: ours?.source.chat_id,
      ts: ours?.source.ts,
      workspace: ours?.workspace,
    }).toEqual({
      text: theirs.text,
      author: theirs.userId,
      chat: theirs.channelId,
      ts: theirs.ts,
      workspace: theirs.teamId,
    })
    // Here a direct message channel is one conversation; elsewhere the thread is the conversation.
    expect(ours?.source.thread_id).toBe(theirs.kind === 'direct_message' ? null : theirs.threadTs)
  },
)

test('a button action has the author, chat, message and value that the Chat SDK reads', () => {
  const kept = {
    ts: '1700000000.000200',
    user: BOT,
    text: '',
    thread_ts: '1700000000.000100',
    blocks: [
      { type: 'actions', elements: [{ action_id: 'cairn:0', value: 'abc:0', text: { text: 'Red' } }] },
    ],
  }
  const { raw, headers } = signedBySlack(pressed('U1', 'C1', kept, 'Red'))
  const theirs = parseSlackWebhookBody(Buffer.from(raw).toString(), { headers })
  const [ours] = parsePayload(readBody(raw, headers), OPTIONS)
  if (theirs.kind !== 'block_actions') throw new Error(`it read ${theirs.kind}`)
  expect([ours?.source.user_id, ours?.source.chat_id, ours?.press, ours?.source.thread_id]).toEqual([
    theirs.userId,
    theirs.channelId,
    theirs.actions[0]?.value,
    theirs.threadTs,
  ])
})

test.each([
  ['as it came', {}, 'ok'],
  ['with another secret', { secret: 'other' }, 'refused'],
  ['from six minutes ago', { at: Date.now() - 360_000 }, 'refused'],
  ['dated six minutes from now', { at: Date.now() + 360_000 }, 'refused'],
  ['from four minutes ago', { at: Date.now() - 240_000 }, 'ok'],
])('a signature %s gets the verdict of the Chat SDK', async (_name, how, verdict) => {
  const { raw, headers } = signedBySlack(BODIES['a mention'], how)
  const ours = (): void => verifySignature(SIGNING_SECRET, raw, headers, Date.now())
  const theirs = verifySlackSignature(Buffer.from(raw).toString(), headers, { signingSecret: SIGNING_SECRET })
  if (verdict === 'ok') {
    ours()
    await theirs
  } else {
    expect(ours).toThrow(expect.objectContaining({ code: 'bad_signature' }))
    await expect(theirs).rejects.toThrow()
  }
})

test('a changed byte or a missing header is a bad signature', () => {
  const { raw, headers } = signedBySlack(BODIES['a mention'])
  const altered = Buffer.from(raw)
  altered[10] = altered[10]! ^ 1
  const badly = (bytes: Uint8Array, given: Headers) => () =>
    verifySignature(SIGNING_SECRET, bytes, given, Date.now())
  expect(badly(altered, headers)).toThrow('the signature does not match this app')
  expect(badly(raw, new Headers())).toThrow('missing x-slack-request-timestamp')
})

test('app_mention and message with the same text are one event', () => {
  const text = `<@${BOT}> hello`
  const [mention] = parse({ type: 'app_mention', channel: 'C1', text })
  const [plain] = parse({ channel: 'C1', channel_type: 'channel', text })
  expect(plain).toEqual(mention)
  expect(mention).toMatchObject({ text: 'hello', conversation_key: 'C1:1700000000.000100' })
})

test('messages without a mention are dropped, and a thread that may be ours accepts the word stop', () => {
  const room = { channel: 'C1', channel_type: 'channel' }
  expect(parse({ ...room, text: 'hello' })).toMatchObject([{ ignore: 'not_mentioned' }])
  expect(parse({ ...room, text: 'hello' }, { groups: 'all' })[0]).not.toHaveProperty('ignore')
  expect(parse({ ...room, text: 'hello', thread_ts: '1.2', parent_user_id: BOT })[0]).not.toHaveProperty(
    'ignore',
  )
  expect(parse({ ...room, text: 'Stop', thread_ts: '1.2' })).toMatchObject([
    { text: '/stop', only_if_standing: true, conversation_key: 'C1:1.2' },
  ])
  expect(parse({ ...room, text: 'stop' })).toMatchObject([{ ignore: 'not_mentioned' }])
  expect(parse({ ...room, text: `<@${BOT}> new` })).toMatchObject([{ text: '/new' }])
  expect(parse({ ...room, text: `<@${BOT}> link ABCD-EFGH` })).toMatchObject([{ text: '/link ABCD-EFGH' }])
  expect(parse({ channel: 'D1', channel_type: 'im', text: 'new' })).toMatchObject([{ text: 'new' }])
})

test('bots, our own messages, edits, joins and other event types create no message', () => {
  const direct = { channel: 'D1', channel_type: 'im', text: 'x' }
  expect(parse({ ...direct, bot_id: 'B9' })).toMatchObject([{ ignore: 'bot' }])
  expect(parse({ ...direct, user: BOT })).toMatchObject([{ ignore: 'own' }])
  expect(parse({ ...direct, subtype: 'channel_join' })).toEqual([])
  expect(parse({ ...direct, user: undefined, subtype: 'message_deleted' })).toEqual([])
  expect(parsePayload(envelope({ type: 'reaction_added', user: 'U1' }), OPTIONS)).toEqual([])
  for (const odd of [null, 1, [], {}, { type: 'event_callback' }])
    expect(parsePayload(odd, OPTIONS)).toEqual([])
})

test('a slash command is a command of Cairn or a message', () => {
  const form = (text: string) => ({
    command: '/cairn',
    text,
    team_id: TEAM,
    channel_id: 'D1',
    user_id: 'U1',
    user_name: 'ann',
    trigger_id: '1.2',
  })
  expect(parsePayload(form('stop'), OPTIONS)).toMatchObject([{ text: '/stop', conversation_key: 'D1' }])
  expect(parsePayload(form('what is new'), OPTIONS)).toMatchObject([
    { text: 'what is new', event_key: 'c:1.2' },
  ])
})

test('mrkdwn is converted to the text that a person sees', () => {
  expect(
    plainText('a &lt;b&gt; &amp;amp; <https://x.org|x> <https://y.org> <@U2> <#C1|talk> <!here>', null),
  ).toBe('a <b> &amp; x (https://x.org) https://y.org @U2 #talk @here')
})

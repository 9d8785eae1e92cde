/** What a Discord message means beyond its text: answers, forwards, stickers, polls and reports. */
import type { GatewayDispatchPayload } from 'discord-api-types/v10'
import { expect, test } from 'vitest'
import { parseDispatch } from '../../src/discord/parse.ts'
import { BOB, DIRECT, ME } from './fake-discord.ts'

type Fields = Record<string, unknown>
const ANN = { id: '7', username: 'ann', global_name: 'Ann' }
const bare = { type: 0, content: '', mentions: [], attachments: [], embeds: [], edited_timestamp: null }
const file = { id: '1', filename: 'a.txt', size: 5, url: 'https://cdn/a' }
const parse = (more: Fields) => {
  const d = { ...bare, id: '10', channel_id: DIRECT, author: ANN, ...more }
  return parseDispatch({ op: 0, s: 1, t: 'MESSAGE_CREATE', d } as unknown as GatewayDispatchPayload, {
    me: ME.id,
    groups: 'mention',
    reply_in: 'thread',
    isThread: false,
  })
}
const server = { guild_id: '900', channel_id: '5', mentions: [ME] }

test('the message that a message answers is part of it', () => {
  const referenced_message = { ...bare, id: '9', author: BOB, content: 'it is <@7>’s', mentions: [ANN] }
  expect(
    parse({ type: 19, content: 'expand this', referenced_message, message_reference: { type: 0 } }),
  ).toMatchObject({
    text: 'expand this',
    answers: { author: 'Bob', text: 'it is @Ann’s' },
  })
  const own = { ...bare, id: '9', author: ME, content: 'Yes.' }
  expect(parse({ type: 19, content: 'why?', referenced_message: own })?.answers).toMatchObject({
    own: true,
    text: 'Yes.',
  })
  expect(parse({ type: 19, content: 'why?', referenced_message: null })).not.toHaveProperty('answers')
})

test('in a server the files of the answered message come along', () => {
  const referenced_message = { ...bare, id: '9', author: BOB, attachments: [file] }
  expect(
    parse({ ...server, type: 19, content: `<@${ME.id}> what is this?`, referenced_message }),
  ).toMatchObject({
    text: 'what is this?',
    answers: { text: '[File: a.txt]' },
    files: [{ name: 'a.txt' }],
  })
})

test.each([
  ['a text', { content: '/stop' }, '/stop'],
  ['an alert of an app', { embeds: [{ title: 'Down', description: 'db1' }] }, 'Down\ndb1'],
  ['a file', { attachments: [file] }, '[File: a.txt]'],
])('%s that is forwarded is a quotation', (_name, more, text) => {
  const inbound = parse({
    message_reference: { type: 1 },
    message_snapshots: [{ message: { ...bare, ...more } }],
  })
  expect(inbound).toMatchObject({ text: '', forwards: [{ author: null, text }] })
  expect(inbound?.files?.length ?? 0).toBe(text.startsWith('[File') ? 1 : 0)
})

test.each([
  ['a sticker', { sticker_items: [{ id: '1', name: 'Wave', format_type: 1 }] }, '[Sticker: Wave]'],
  [
    'a poll',
    {
      poll: {
        question: { text: 'Tea?' },
        answers: [{ poll_media: { text: 'Yes' } }, { poll_media: { emoji: { name: '🙅' } } }],
      },
    },
    '[Poll: Tea?; Yes; 🙅]',
  ],
])('%s is described', (_name, more, text) => expect(parse(more)).toMatchObject({ text }))

test('the preview of a link is not what the person said', () => {
  expect(parse({ content: 'see https://x.org', embeds: [{ title: 'X' }] })?.text).toBe('see https://x.org')
})

test('a report of Discord is not a message, an activity is named, and a new type is read', () => {
  expect(parse({ ...server, type: 6 })).toMatchObject({ ignore: 'system message' })
  expect(parse({ activity: { type: 3 } })).toMatchObject({ text: '', unsupported: 'activity' })
  expect(parse({ type: 4711, content: 'hi' })).toMatchObject({ text: 'hi' })
  expect(parse({ type: 4711, content: 'hi' })).not.toHaveProperty('ignore')
})

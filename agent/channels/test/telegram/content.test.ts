/** What a Telegram message means beyond its text: forwards, answers, descriptions, anonymous authors. */
import type { Update } from 'grammy/types'
import { expect, test } from 'vitest'
import { parseUpdate } from '../../src/telegram/parse.ts'
import { ANN, BOB, DIRECT, GROUP } from './fake-telegram.ts'

const ME = { id: 4242, username: 'cairn_bot' }
type Fields = Record<string, unknown>
const parse = (more: Fields, groups: 'mention' | 'all' = 'mention', kind = 'message') => {
  const message = { message_id: 5, date: 1_700_000_000, chat: DIRECT, from: ANN, ...more }
  return parseUpdate({ update_id: 1, [kind]: message } as unknown as Update, ME, groups)
}
const said = (more: Fields): Fields => ({ message_id: 4, date: 1, chat: DIRECT, from: BOB, ...more })
const photo = (id: string) => [{ file_id: id, file_unique_id: id, width: 1, height: 1 }]

test('the message that a message answers is part of it, with the selected words', () => {
  const reply_to_message = said({ text: 'Cairns mark a trail. They are old.' })
  expect(
    parse({ text: 'expand this', reply_to_message, quote: { text: 'They are old.', position: 21 } }),
  ).toMatchObject({
    text: 'expand this',
    answers: { author: 'Bob', text: 'Cairns mark a trail. They are old.', selected: 'They are old.' },
  })
})

test('an answer to the bot, to a picture and to a message of another chat names what it answers', () => {
  const own = said({ from: { ...ME, is_bot: true, first_name: 'Cairn' }, text: 'Yes.' })
  expect(parse({ text: 'why?', reply_to_message: own })?.answers).toEqual({
    author: 'Cairn',
    own: true,
    text: 'Yes.',
  })
  const picture = said({ photo: photo('p') })
  expect(parse({ text: 'what?', reply_to_message: picture })?.answers?.text).toBe('[File: photo-4.jpg]')
  const external_reply = {
    origin: { type: 'channel', chat: { id: -1, type: 'channel', title: 'News' }, message_id: 1, date: 1 },
  }
  expect(
    parse({ text: 'true?', external_reply, quote: { text: 'It rains.', position: 0 } })?.answers,
  ).toEqual({
    author: 'News',
    text: '',
    selected: 'It rains.',
  })
})

test('the first message of a topic is not answered by every message in it', () => {
  const reply_to_message = said({ chat: GROUP, forum_topic_created: { name: 'Trips', icon_color: 1 } })
  expect(parse({ chat: GROUP, text: '@cairn_bot hi', reply_to_message })).not.toHaveProperty('answers')
})

test('in a group the files of the answered message come along', () => {
  const reply_to_message = said({ chat: GROUP, photo: photo('theirs') })
  expect(parse({ chat: GROUP, text: '@cairn_bot what is this?', reply_to_message })).toMatchObject({
    text: 'what is this?',
    files: [{ ref: { file_id: 'theirs' } }],
  })
})

test.each([
  ['a person', { type: 'user', date: 1, sender_user: BOB }, 'Bob'],
  ['a person who hides their account', { type: 'hidden_user', date: 1, sender_user_name: 'Cy' }, 'Cy'],
  ['a group', { type: 'chat', date: 1, sender_chat: GROUP }, 'Team'],
  [
    'a channel',
    { type: 'channel', date: 1, message_id: 1, chat: { id: -1, type: 'channel', title: 'News' } },
    'News',
  ],
])('a message forwarded from %s is a quotation and no command', (_name, forward_origin, author) => {
  expect(parse({ text: '/stop', forward_origin })).toMatchObject({
    text: '',
    forwards: [{ author, text: '/stop' }],
  })
  const picture = parse({ photo: photo('p'), caption: 'look', forward_origin })
  expect(picture).toMatchObject({
    text: '',
    forwards: [{ author, text: 'look' }],
    files: [{ ref: { file_id: 'p' } }],
  })
})

test.each([
  ['a sticker', { sticker: { emoji: '👍', set_name: 'Hands' } }, '[Sticker: 👍; Hands]'],
  [
    'a place',
    { venue: { location: { latitude: 1, longitude: 2 }, title: 'Café', address: 'Main St' } },
    '[Location: 1, 2; Café; Main St]',
  ],
  ['a position', { location: { latitude: 1, longitude: 2 } }, '[Location: 1, 2]'],
  ['a contact', { contact: { first_name: '/stop', phone_number: '+49 1' } }, '[Contact: /stop; +49 1]'],
  [
    'a poll',
    { poll: { question: 'Tea?', options: [{ text: 'Yes' }, { text: 'No' }] } },
    '[Poll: Tea?; Yes; No]',
  ],
  ['dice', { dice: { emoji: '🎲', value: 4 } }, '[Dice: 🎲 4]'],
  [
    'a checklist',
    { checklist: { title: 'Trip', tasks: [{ id: 1, text: 'Pack' }] } },
    '[Checklist: Trip; Pack]',
  ],
])('%s is described', (_name, more, text) => {
  expect(parse(more)).toMatchObject({ text })
  // It addresses nobody in a group.
  expect(parse({ ...more, chat: GROUP })).toMatchObject({ ignore: 'not mentioned' })
})

test('a kind of message that is not known here is named, and a report of Telegram is not a message', () => {
  expect(parse({ hologram: {}, has_protected_content: true })).toMatchObject({
    text: '',
    unsupported: 'hologram',
  })
  expect(parse({ pinned_message: said({ text: 'x' }) })).toMatchObject({ ignore: 'service message' })
  expect(parse({ chat: GROUP, new_chat_members: [BOB] }, 'all')).toMatchObject({ ignore: 'service message' })
  expect(parse({ chat: GROUP, text: '@cairn_bot' })).toMatchObject({ text: '' })
  expect(parse({ chat: GROUP, text: '@cairn_bot' })).not.toHaveProperty('unsupported')
})

test('a live location that moves is not a new message', () => {
  const location = { latitude: 1, longitude: 2, live_period: 60 }
  expect(parse({ location, edit_date: 2 }, 'mention', 'edited_message')).toMatchObject({
    ignore: 'edit without text',
  })
})

test('an administrator who writes anonymously is a person, and so is a person who writes as a channel', () => {
  const GROUP_BOT = { id: 1087968824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' }
  const anonymous = parse({
    chat: GROUP,
    from: GROUP_BOT,
    sender_chat: GROUP,
    author_signature: 'Boss',
    text: '@cairn_bot hi',
  })
  expect(anonymous).toMatchObject({ text: 'hi', source: { user_id: '-100', user_name: 'Team, Boss' } })
  expect(anonymous).not.toHaveProperty('ignore')
  const CHANNEL_BOT = { id: 136817688, is_bot: true, first_name: 'Channel', username: 'Channel_Bot' }
  const sender_chat = { id: -200, type: 'channel', title: 'News' }
  const asChannel = parse({ chat: GROUP, from: CHANNEL_BOT, sender_chat, text: '@cairn_bot hi' })
  expect(asChannel).toMatchObject({ source: { user_id: '-200', user_name: 'News' } })
  expect(asChannel).not.toHaveProperty('ignore')
  expect(parse({ chat: GROUP, from: { ...BOB, is_bot: true }, text: '@cairn_bot hi' })).toMatchObject({
    ignore: 'bot',
  })
})

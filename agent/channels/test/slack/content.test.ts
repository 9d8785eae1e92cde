/** What people share in Slack: messages of others, blocks without a text, and files that Slack does not have. */
import { expect, test } from 'vitest'
import { parsePayload } from '../../src/slack/parse.ts'
import { ThreadMessages } from '../../src/slack/payloads.ts'
import { quoteThread } from '../../src/slack/thread.ts'
import { BOT, envelope, TEAM } from './fake-slack.ts'

const OPTIONS = { groups: 'mention', reply_in: 'thread' } as const
const direct = {
  type: 'message',
  user: 'U1',
  ts: '1.2',
  team: TEAM,
  channel: 'D1',
  channel_type: 'im',
  text: '',
}
const parse = (event: Record<string, unknown>) => parsePayload(envelope({ ...direct, ...event }), OPTIONS)[0]
const rich = (...elements: unknown[]) => [{ type: 'rich_text', elements }]
const section = (...elements: unknown[]) => ({ type: 'rich_text_section', elements })

test('a forwarded message without words of its own is read with its author', () => {
  const attachments = [
    { is_share: true, author_name: 'Bo', text: 'please &lt;check&gt; <https://x.org|this>' },
  ]
  expect(parse({ attachments })).toMatchObject({
    text: '',
    forwards: [{ author: 'Bo', text: 'please <check> this (https://x.org)' }],
  })
})

test('words, a shared message with blocks and its files are read together', () => {
  const message_blocks = [{ message: { blocks: rich(section({ type: 'text', text: 'a < b' })) } }]
  const file = {
    id: 'F1',
    name: 'a.txt',
    mimetype: 'text/plain',
    url_private_download: 'https://files.slack.com/a',
  }
  const attachments = [{ is_msg_unfurl: true, author_subname: 'Cy', message_blocks, files: [file] }]
  expect(parse({ text: 'what is this?', attachments })).toMatchObject({
    text: 'what is this?',
    forwards: [{ author: 'Cy', text: 'a < b' }],
    files: [{ name: 'a.txt', ref: { url: 'https://files.slack.com/a' } }],
  })
  // The preview of a link is not what the person said.
  expect(
    parse({ text: 'see <https://x.org>', attachments: [{ title: 'X', text: 'a page' }] }),
  ).not.toHaveProperty('forwards')
})

test.each([
  [
    'an attachment with fields',
    [{ title: 'Alert', fields: [{ title: 'Host', value: 'db1' }] }],
    'Alert\nHost: db1',
  ],
  ['a fallback alone', [{ is_share: true, fallback: '[Nov 28] bo: hi' }], '[Nov 28] bo: hi'],
  ['a picture', [{ is_share: true, image_url: 'https://x.org/a.png' }], '[Picture: https://x.org/a.png]'],
])('a message of %s alone is read', (_name, attachments, text) => {
  expect(parse({ attachments })?.forwards).toMatchObject([{ text }])
})

test.each([
  [
    'formatted text',
    rich(
      section(
        { type: 'text', text: 'ask ' },
        { type: 'user', user_id: 'U2' },
        { type: 'emoji', name: 'wave' },
      ),
    ),
    'ask @U2:wave:',
  ],
  [
    'a list, a quote and code',
    rich(
      { type: 'rich_text_list', style: 'ordered', elements: [section({ type: 'text', text: 'one' })] },
      { type: 'rich_text_quote', elements: [{ type: 'text', text: 'said' }] },
      { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'x = <y>' }] },
    ),
    '1. one\n> said\n```\nx = <y>\n```',
  ],
  [
    'sections, a context and a picture',
    [
      { type: 'header', text: { type: 'plain_text', text: 'A & B' } },
      { type: 'section', text: { type: 'mrkdwn', text: '*bold*' }, fields: [{ type: 'mrkdwn', text: 'f' }] },
      {
        type: 'context',
        elements: [
          { type: 'plain_text', text: 'c' },
          { type: 'image', alt_text: 'cat' },
        ],
      },
      { type: 'image', alt_text: 'dog', image_url: 'https://x.org/d.png' },
      { type: 'divider' },
    ],
    'A & B\n*bold*\nf\nc [Picture: cat]\n[Picture: dog]',
  ],
  [
    'a block of a later version',
    [{ type: 'hologram', text: { type: 'plain_text', text: 'hello' } }],
    'hello',
  ],
])('%s without a text is read from its blocks', (_name, blocks, text) => {
  expect(parse({ blocks })).toMatchObject({ text })
})

test('a mention in blocks addresses the bot, and a command in blocks is one', () => {
  const blocks = rich(section({ type: 'user', user_id: BOT }, { type: 'text', text: ' stop' }))
  expect(parse({ channel: 'C1', channel_type: 'channel', blocks })).toMatchObject({ text: '/stop' })
  expect(parse({ channel: 'C1', channel_type: 'channel', blocks })).not.toHaveProperty('ignore')
})

test('a forwarded command is no command', () => {
  const attachments = [{ is_share: true, author_name: 'Bo', text: 'stop' }]
  expect(parse({ attachments })).toMatchObject({ text: '', forwards: [{ text: 'stop' }] })
})

test('a file that Slack does not store is named', () => {
  const files = [
    { id: 'F1', name: 'plan.gdoc', mode: 'external', url_private: 'https://docs.example/1' },
    { id: 'F2', mode: 'tombstone' },
    'odd',
  ]
  expect(parse({ text: 'look', files })).toMatchObject({
    text: 'look\n[attachment is stored outside Slack at https://docs.example/1: plan.gdoc]\n[attachment is not available: F2]',
  })
})

test('a person’s message of a new subtype is read, and a message of an unknown shape is reported', () => {
  expect(parse({ subtype: 'telepathy', text: 'hi' })).toMatchObject({ text: 'hi' })
  expect(parse({ text: 7 })).toMatchObject({
    event_key: 'm:D1:1.2',
    unsupported: 'message with an invalid text',
  })
  expect(parse({ channel: 'C1', text: 7 })).toMatchObject({
    ignore: expect.stringMatching(/^unreadable: text: /),
  })
  expect(parse({ bot_id: 'B1', text: 7 })).toMatchObject({ ignore: expect.stringMatching(/^unreadable/) })
})

test('messages above a mention that consist of blocks or a shared message are quoted', () => {
  const attachments = [{ is_share: true, author_name: 'Bo', text: 'it is down' }]
  const blocks = rich(section({ type: 'text', text: 'alert' }))
  const said = ThreadMessages.parse([
    { ts: '1', user: 'U1', text: '', blocks },
    { ts: '2', user: 'U2', text: '', attachments },
  ])
  expect(quoteThread(said)).toBe('[U1] alert\n[U2] Bo: it is down')
})

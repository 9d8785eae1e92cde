/**
 * More Slack payloads, parsed by Cairn and by the Chat SDK's adapter; docs/channels/slack.md lists
 * differences.
 */
import { parseSlackWebhookBody } from '@chat-adapter/slack/webhook'
import { expect, test } from 'vitest'
import { parsePayload, readBody } from '../../src/slack/parse.ts'
import { BOT, envelope, signedBySlack, TEAM } from './fake-slack.ts'

const OPTIONS = { groups: 'mention', reply_in: 'thread' } as const
type Fields = Record<string, unknown>
const message = { type: 'message', user: 'U1', ts: '1700000000.000100', team: TEAM }

function read(payload: Fields) {
  const { raw, headers } = signedBySlack(payload)
  const theirs = parseSlackWebhookBody(Buffer.from(raw).toString(), { headers })
  return { theirs, ours: parsePayload(readBody(raw, headers), OPTIONS)[0] }
}

test('a message has the files that the Chat SDK reads', () => {
  const file = (id: string): Fields => ({
    id,
    name: `${id}.txt`,
    mimetype: 'text/plain',
    size: 5,
    url_private: `https://files.slack.com/${id}`,
    url_private_download: `https://files.slack.com/download/${id}`,
  })
  const files = [file('F1'), file('F2')]
  const event = { ...message, channel: 'D1', channel_type: 'im', subtype: 'file_share', text: 'look', files }
  const { theirs, ours } = read(envelope(event))
  if (theirs.kind !== 'direct_message') throw new Error(`it read ${theirs.kind}`)
  const raw = (theirs.raw as { event?: { files?: Fields[] } }).event?.files ?? files
  expect([ours?.text, ours?.source.user_id]).toEqual([theirs.text, theirs.userId])
  expect(ours?.files?.map(({ name, size, mime_type }) => [name, size, mime_type])).toEqual(
    raw.map(({ name, size, mimetype }) => [name, size, mimetype]),
  )
})

test.each([
  ['stop', '/stop'],
  ['what is new', 'what is new'],
])(
  'the slash command with the text %s has the text, sender and channel that the Chat SDK reads',
  (text, said) => {
    const form = {
      command: '/cairn',
      text,
      team_id: TEAM,
      channel_id: 'D1',
      channel_name: 'directmessage',
      user_id: 'U1',
      user_name: 'ann',
      trigger_id: '1.2',
      response_url: 'https://hooks.slack.com/commands/1',
    }
    const body = new URLSearchParams(form).toString()
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
    const theirs = parseSlackWebhookBody(body, { headers })
    if (theirs.kind !== 'slash_command') throw new Error(`it read ${theirs.kind}`)
    const [ours] = parsePayload(readBody(Buffer.from(body), headers), OPTIONS)
    expect([theirs.command, theirs.text]).toEqual(['/cairn', text])
    expect([ours?.text, ours?.source.user_id, ours?.source.chat_id, ours?.workspace]).toEqual([
      said,
      theirs.userId,
      theirs.channelId,
      theirs.teamId,
    ])
  },
)

test('a message without a mention is not an event for the Chat SDK, and Cairn drops it', () => {
  const { theirs, ours } = read(
    envelope({ ...message, channel: 'C1', channel_type: 'channel', text: 'among ourselves' }),
  )
  expect(['app_mention', 'direct_message']).not.toContain(theirs.kind)
  expect(ours).toMatchObject({ ignore: 'not_mentioned' })
})

test('the Chat SDK keeps the mention of the bot in the text, and Cairn removes it', () => {
  const { theirs, ours } = read(
    envelope({ ...message, type: 'app_mention', channel: 'C1', text: `<@${BOT}> hello` }),
  )
  if (theirs.kind !== 'app_mention') throw new Error(`it read ${theirs.kind}`)
  expect([theirs.text, ours?.text]).toEqual([`<@${BOT}> hello`, 'hello'])
})

/** Signatures cover bytes, not headers: a signed body has one meaning, whatever its content type. */
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import type { Inbound, Webhook } from '../../src/adapter.ts'
import { createSlackAdapter } from '../../src/slack/adapter.ts'
import { createTelegramAdapter } from '../../src/telegram/adapter.ts'
import { createWebhookAdapter } from '../../src/webhook/adapter.ts'
import { createWhatsAppAdapter } from '../../src/whatsapp/adapter.ts'
import { signed, SECRET } from '../signed.ts'
import { BOT_TOKEN, envelope, signedBySlack, SIGNING_SECRET, TEAM } from '../slack/fake-slack.ts'
import { APP_SECRET, NUMBER, signedByMeta, textFrom } from '../whatsapp/fake-graph.ts'

const slack = createSlackAdapter({
  connectionId: 'c',
  botToken: BOT_TOKEN,
  signingSecret: SIGNING_SECRET,
  appToken: null,
  apiUrl: 'http://127.0.0.1:9/',
  groups: 'all',
  reply_in: 'thread',
  now: Date.now,
}).webhook!
const webhook = createWebhookAdapter({
  connectionId: 'c',
  secret: SECRET,
  callbackUrl: 'https://example.org/',
  fetch,
}).webhook!
const whatsapp = createWhatsAppAdapter({
  phoneNumberId: NUMBER,
  token: 't',
  appSecret: APP_SECRET,
  verifyToken: 'v',
  template: null,
  apiUrl: 'http://127.0.0.1:9/',
  now: Date.now,
}).webhook!
const telegram = createTelegramAdapter({
  token: '1:x',
  groups: 'all',
  apiRoot: 'http://127.0.0.1:9',
  webhook: { url: 'https://example.org/', secret: 's' },
}).webhook!

type Signed = { headers: Headers; raw: Uint8Array }
/** The error code of a rejection, or the events. */
async function outcome({ verify, parse }: Webhook, { headers, raw }: Signed): Promise<string | Inbound[]> {
  const call = { method: 'POST', query: new URLSearchParams(), headers, raw }
  try {
    if (verify(call) !== null) return 'challenge'
    return await parse(call)
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
const as = ({ headers, raw }: Signed, type: string | null): Signed => {
  const changed = new Headers(headers)
  changed.delete('content-type')
  if (type !== null) changed.set('content-type', type)
  return { headers: changed, raw }
}
const TYPES = [
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=utf-8',
  'multipart/form-data; boundary=x',
  'application/json, application/x-www-form-urlencoded',
  'application/json+form',
  'text/plain',
  'APPLICATION/X-WWW-FORM-URLENCODED',
  null,
]
/** A message text that tries to pass as form fields. */
const TEXTS = [
  `&command=%2Fcairn&text=stop&team_id=${TEAM}&channel_id=C1&user_id=UBOSS&trigger_id=1&x=`,
  `&payload=${encodeURIComponent(JSON.stringify({ type: 'block_actions', user: { id: 'UBOSS' }, actions: [] }))}&x=`,
]

test('a signed Slack event in JSON is never read as a form, nor a form as JSON', async () => {
  const message = {
    type: 'message',
    channel: 'D1',
    channel_type: 'im',
    user: 'U1',
    ts: '1700000000.1',
    team: TEAM,
  }
  const command = {
    command: '/cairn',
    text: 'stop',
    team_id: TEAM,
    channel_id: 'D1',
    user_id: 'U1',
    trigger_id: '1',
  }
  const unexpected: string[] = []
  let tried = 0
  for (const text of TEXTS) {
    const json = signedBySlack(envelope({ ...message, text }))
    expect(await outcome(slack, json)).toMatchObject([{ source: { user_id: 'U1' } }])
    const form = signedBySlack({ payload: '', ...command }, { form: true })
    for (const type of TYPES) {
      tried += 1
      const got = await outcome(slack, as(json, type))
      if (got !== 'unsupported_media_type') unexpected.push(`${type}: ${JSON.stringify(got)}`)
    }
    for (const type of ['application/json', 'text/json', 'text/plain', null]) {
      tried += 1
      const got = await outcome(slack, as(form, type))
      if (got !== 'unsupported_media_type') unexpected.push(`${type}: ${JSON.stringify(got)}`)
    }
  }
  expect(
    await outcome(
      slack,
      as(signedBySlack(envelope({ ...message, text: 'hi' })), 'Application/JSON; charset=utf-8'),
    ),
  ).toMatchObject([{ text: 'hi' }])
  tally('content types of signed Slack bodies', tried, unexpected.length)
  expect(unexpected).toEqual([])
})

test.each([
  ['the webhook', webhook, signed({ text: TEXTS[0]! })],
  ['WhatsApp', whatsapp, signedByMeta(textFrom('16505551234', TEXTS[0]!))],
] as const)('%s reads a body as the same event under every content type', async (_name, adapter, body) => {
  const expected = await outcome(adapter, body)
  expect(expected).toHaveLength(1)
  for (const type of TYPES) expect(await outcome(adapter, as(body, type))).toEqual(expected)
  tally('content types of signed bodies', TYPES.length, 0)
})

test('the Telegram webhook rejects a body that is not an update with an error code', async () => {
  const texts = [
    '',
    'null',
    '[]',
    '"x"',
    '0',
    '{',
    '{"a":',
    '\u{feff}{}',
    '['.repeat(800),
    '{"__proto__":{"a":1}}',
  ]
  const bodies = [
    ...texts.map(text => Buffer.from(text)),
    Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
    Buffer.alloc(64),
  ]
  const headers = new Headers({ 'x-telegram-bot-api-secret-token': 's' })
  const outcomes = await Promise.all(bodies.map(raw => outcome(telegram, { headers, raw })))
  const unexpected = outcomes.filter(got => got !== 'bad_request')
  tally('Telegram bodies that are not updates', bodies.length, unexpected.length)
  expect(unexpected).toEqual([])
})

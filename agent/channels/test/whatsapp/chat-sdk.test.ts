/**
 * WhatsApp payloads, parsed by Cairn and by the Chat SDK's adapter; docs/channels/whatsapp.md lists
 * differences.
 */
import { createWhatsAppAdapter } from '@chat-adapter/whatsapp'
import { beforeAll, expect, test } from 'vitest'
import { parsePayload } from '../../src/whatsapp/parse.ts'
import { type Heard, SILENT, startRecorder } from '../chat-sdk-recorder.ts'
import {
  APP_SECRET,
  idOf,
  incoming,
  NUMBER,
  signedByMeta,
  statusOf,
  TOKEN,
  VERIFY_TOKEN,
} from './fake-graph.ts'

const ANN = '16505551234'
type Fields = Record<string, unknown>

let read: (payload: Fields, secret?: string) => Promise<Heard[]>
beforeAll(async () => {
  const hear = await startRecorder(
    createWhatsAppAdapter({
      accessToken: TOKEN,
      appSecret: APP_SECRET,
      phoneNumberId: NUMBER,
      verifyToken: VERIFY_TOKEN,
      userName: 'cairn',
      logger: SILENT,
    }),
  )
  read = (payload, secret) => {
    const { headers, raw } = signedByMeta(payload, secret)
    return hear(new Request('https://bot.example/', { method: 'POST', headers, body: Buffer.from(raw) }))
  }
})
const ours = (payload: Fields) => parsePayload(payload, NUMBER, Date.now())
const media = (more: Fields = {}): Fields => ({ id: 'm1', sha256: 'x', ...more })

const MESSAGES: Record<string, Fields> = {
  'a text': { type: 'text', text: { body: 'hello *there*' } },
  'a picture with a caption': { type: 'image', image: media({ mime_type: 'image/jpeg', caption: 'look' }) },
  'a sticker': { type: 'sticker', sticker: media({ mime_type: 'image/webp' }) },
  'a document with a caption': {
    type: 'document',
    document: media({ mime_type: 'application/pdf', filename: 'a.pdf', caption: 'read' }),
  },
}

test.each(Object.entries(MESSAGES))('Cairn and the Chat SDK read %s alike', async (_name, message) => {
  const payload = incoming(ANN, message)
  const [theirs] = await read(payload)
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  const [inbound] = ours(payload)
  expect({
    id: inbound?.event_key,
    text: inbound?.text,
    user: inbound?.source.user_id,
    name: inbound?.source.user_name,
    seconds: Number(inbound?.source.ts.split('.')[0]),
    files: (inbound?.files ?? []).map(({ ref, mime_type }) => [ref['media'], mime_type]),
  }).toEqual({
    id: `w:${theirs.message.id}`,
    text: theirs.message.text,
    user: theirs.message.author.userId,
    name: theirs.message.author.fullName,
    seconds: theirs.message.metadata.dateSent.getTime() / 1000,
    files: theirs.message.attachments.map(({ fetchMetadata, mimeType }) => [
      fetchMetadata?.['mediaId'],
      mimeType,
    ]),
  })
  expect(theirs.threadId).toBe(`whatsapp:${NUMBER}:${inbound?.conversation_key}`)
})

test.each(['button_reply', 'list_reply'])(
  'a %s has the value and sender that the Chat SDK reads',
  async kind => {
    const payload = incoming(ANN, {
      type: 'interactive',
      interactive: { type: kind, [kind]: { id: 'abcdefghij:0', title: 'Red' } },
    })
    const [theirs] = await read(payload)
    const [inbound] = ours(payload)
    expect(theirs).toMatchObject({
      kind: 'action',
      actionId: inbound?.press,
      userId: inbound?.source.user_id,
      threadId: `whatsapp:${NUMBER}:${inbound?.conversation_key}`,
    })
  },
)

/** Promise 15.3: WhatsApp users who hide their phone number are recognised and answered. */
test('a sender with a hidden number has the id that the Chat SDK reads, and is answered under it', async () => {
  const HIDDEN = idOf(ANN)
  const text = JSON.stringify(incoming(ANN, { type: 'text', text: { body: 'hello' } }))
  const payload = JSON.parse(text.replace(`"wa_id":"${ANN}",`, '').replace(`"from":"${ANN}",`, '')) as Fields
  const [theirs] = await read(payload)
  if (theirs?.kind !== 'message') throw new Error(`it heard ${theirs?.kind}`)
  const [inbound] = ours(payload)
  expect([inbound?.source.user_id, inbound?.source.user_name, inbound?.text]).toEqual([
    theirs.message.author.userId,
    theirs.message.author.fullName,
    theirs.message.text,
  ])
  expect(inbound).toMatchObject({ conversation_key: HIDDEN, target: { recipient: HIDDEN } })
})

test('the Chat SDK rejects a body signed with another secret', async () => {
  await expect(read(incoming(ANN, MESSAGES['a text']!), 'other')).rejects.toThrow('401')
})

/** Intended differences between both. */
const DIFFERENT: [string, Fields, string, Fields][] = [
  [
    'Cairn reads a picture without a caption as an empty text, and the Chat SDK as a placeholder',
    { type: 'image', image: media() },
    '[Image]',
    { text: '', files: [{ ref: { media: 'm1' } }] },
  ],
  [
    'Cairn reads the name and address of a location, and the Chat SDK the name alone',
    { type: 'location', location: { latitude: 1, longitude: 2, name: 'Café', address: 'Main St' } },
    '[Location: Café - Main St]',
    { text: '[Location: 1, 2; Café; Main St]' },
  ],
]

test.each(DIFFERENT)('%s', async (_name, message, text, wantedOfUs) => {
  const payload = incoming(ANN, message)
  const [theirs] = await read(payload)
  expect(theirs).toMatchObject({ kind: 'message', message: { text } })
  expect(ours(payload)).toMatchObject([wantedOfUs])
})

test('Cairn settles a part by its status, and the Chat SDK ignores the status', async () => {
  const status = statusOf(
    { id: 'wamid.1', to: ANN, type: 'text', biz_opaque_callback_data: 'k' },
    'delivered',
  )
  expect(await read(status)).toEqual([])
  expect(ours(status)).toMatchObject([{ status: { key: 'k', outcome: 'taken' } }])
})

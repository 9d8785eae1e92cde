/**
 * The Graph API of WhatsApp's Cloud API: stores messages, enforces the 24-hour window, and fails on request.
 * Tests sign and send what it would send to the webhook.
 */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export const TOKEN = 'EAAG-fake-token'
export const APP_SECRET = 'fake-app-secret'
export const VERIFY_TOKEN = 'fake-verify-token'
export const NUMBER = '106540352242922'
type Json = Record<string, unknown>
/** `drop`: accept the request and never answer. */
export type Fault = 'drop' | { status: number; code?: number }
export type Sent = {
  id: string
  to: string
  type: string
  text?: { body: string }
  interactive?: {
    type: string
    body: { text: string }
    action: {
      buttons?: { reply: { id: string; title: string } }[]
      sections?: { rows: { id: string; title: string }[] }[]
    }
  }
  template?: { name: string }
  biz_opaque_callback_data?: string
}

export async function startFakeGraph() {
  /** Messages that people see, in order. */
  const sent: Sent[] = []
  const faults: Fault[] = []
  const reads: string[] = []
  const media = new Map<string, Buffer>()
  let isWindowOpen = true
  let count = 0
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()))

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const raw = await buffer(req)
    const reply = (status: number, body: Json): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const fail = (status: number, code: number): void => reply(status, { error: { message: 'x', code } })
    if (req.headers.authorization !== `Bearer ${TOKEN}`) return fail(401, 190)
    const path = (req.url ?? '').replace('/v24.0/', '')
    const file = media.get(path.replace('files/', ''))
    if (file !== undefined)
      return path.startsWith('files/')
        ? void res.end(file)
        : reply(200, { url: `${url()}files/${path}`, file_size: file.length })
    if (path !== `${NUMBER}/messages`) return fail(404, 100)
    const body = JSON.parse(raw.toString()) as Json & Sent
    if (body['status'] === 'read') {
      reads.push(String(body['message_id']))
      return reply(200, { success: true })
    }
    const fault = faults.shift()
    if (typeof fault === 'object') return fail(fault.status, fault.code ?? 1)
    if (!isWindowOpen && body.type !== 'template') return fail(400, 131047)
    const id = `wamid.${++count}`
    const person = body.to ?? String(body['recipient'])
    sent.push({ ...body, id })
    if (fault === 'drop') return void res.destroy()
    reply(200, {
      messaging_product: 'whatsapp',
      contacts: [{ input: person, wa_id: person, user_id: idOf(person) }],
      messages: [{ id }],
    })
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v24.0/`
  return {
    apiUrl: url(),
    sent,
    reads,
    media,
    fail: (...next: Fault[]) => void faults.push(...next),
    window: (isOpen: boolean) => void (isWindowOpen = isOpen),
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

let ids = 0
const notification = (value: Json): Json => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '102290129340398',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '15550783881', phone_number_id: NUMBER },
            ...value,
          },
        },
      ],
    },
  ],
})
export const idOf = (from: string): string => `US.${from}`
/** A message of a person, of any type. */
export const incoming = (from: string, message: Json, id = `wamid.in${++ids}`): Json =>
  notification({
    // Each person has an id for this business only, beside their number or instead of it.
    contacts: [{ profile: { name: 'Ann' }, wa_id: from, user_id: idOf(from) }],
    messages: [
      { from, from_user_id: idOf(from), id, timestamp: String(Math.floor(Date.now() / 1000)), ...message },
    ],
  })
export const textFrom = (from: string, body: string): Json => incoming(from, { type: 'text', text: { body } })
export const statusOf = ({ id, to, biz_opaque_callback_data }: Sent, status: string, code?: number): Json =>
  notification({
    contacts: [{ wa_id: to, user_id: idOf(to) }],
    statuses: [
      {
        id,
        status,
        timestamp: String(Math.floor(Date.now() / 1000)),
        recipient_id: to,
        recipient_user_id: idOf(to),
        biz_opaque_callback_data,
        ...(code === undefined ? {} : { errors: [{ code, title: 'Re-engagement message' }] }),
      },
    ],
  })
export function pressOn(from: string, { interactive, id }: Sent, label: string): Json {
  const { buttons = [], sections = [] } = interactive?.action ?? {}
  const button = buttons.find(({ reply }) => reply.title === label)?.reply
  const row = sections.flatMap(({ rows }) => rows).find(({ title }) => title === label)
  const pressed =
    button === undefined
      ? { type: 'list_reply', list_reply: row }
      : { type: 'button_reply', button_reply: button }
  return incoming(from, { type: 'interactive', context: { from: '15550783881', id }, interactive: pressed })
}

export function signedByMeta(payload: Json, secret = APP_SECRET): { headers: Headers; raw: Uint8Array } {
  const raw = Buffer.from(JSON.stringify(payload))
  const signature = createHmac('sha256', secret).update(raw).digest('hex')
  return {
    headers: new Headers({
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${signature}`,
    }),
    raw,
  }
}

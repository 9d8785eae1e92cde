/** WhatsApp's Cloud API: a webhook in, the Graph API out. docs/channels/whatsapp.md has the setup. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError } from '@cairn/protocol'
import { type Adapter, type Call, type Inbound, type OutgoingPart, SendFailed } from '../adapter.ts'
import { createGraph } from './graph.ts'
import { messageBody } from './message-body.ts'
import { parsePayload, targetOf } from './parse.ts'

export type WhatsAppOptions = {
  phoneNumberId: string
  token: string
  appSecret: string
  verifyToken: string
  /** Sent once if the person must write first. */
  template: { name: string; language: string } | null
  /** Ends with a slash. */
  apiUrl: string
  now: () => number
}

/** The status of an accepted message arrives within this time. */
const STATUS_MS = 60_000
const MiB = 1024 * 1024

export function createWhatsAppAdapter(options: WhatsAppOptions): Adapter {
  const { phoneNumberId, appSecret, verifyToken, template, now } = options
  const { post, fetchMedia } = createGraph(options)
  /** Since when the status of a lost part has been awaited. */
  const awaited = new Map<string, number>()
  return {
    platform: 'whatsapp',
    // A wa_id is a phone number.
    workspace: '',
    // https://developers.facebook.com/docs/whatsapp/cloud-api/overview: 80 messages a second
    limits: { text: 4096, fileBytesIn: 20 * MiB, fileBytesOut: 0, perSecond: 80, updateEveryMin: 10 },
    delivery: 'reconciled',
    webhook: {
      methods: ['GET', 'POST'],
      bodyLimit: 4 * MiB,
      verify: call => (call.method === 'GET' ? subscribe(call) : checkSignature(call)),
      parse: ({ raw }) => parsePayload(readJson(raw), phoneNumberId, now()),
    },
    address: to => ({ conversation_key: to, target: targetOf(to) }),
    send,
    find,
    acknowledge,
    fetchFile: (file, mostBytes, signal) => fetchMedia(String(file.ref['media']), mostBytes, signal),
  }

  /**
   * Handles the verification request when the URL is configured:
   * https://developers.facebook.com/docs/graph-api/webhooks/getting-started
   */
  function subscribe({ query }: Call): Response {
    if (query.get('hub.mode') !== 'subscribe' || !isSame(query.get('hub.verify_token') ?? '', verifyToken))
      throw new AppError('bad_signature', 'Wrong hub.verify_token for this connection.')
    return new Response(query.get('hub.challenge') ?? '', { headers: { 'content-type': 'text/plain' } })
  }

  function checkSignature({ raw, headers }: Call): null {
    const wanted = `sha256=${createHmac('sha256', appSecret).update(raw).digest('hex')}`
    if (!isSame(headers.get('x-hub-signature-256') ?? '', wanted))
      throw new AppError('bad_signature', 'Wrong x-hub-signature-256: it does not match this app and body.')
    return null
  }

  async function send(
    part: OutgoingPart,
    key: string,
    signal: AbortSignal,
  ): Promise<{ message_id: string | null }> {
    awaited.delete(key)
    try {
      return await post({ ...part.target, ...messageBody(part), biz_opaque_callback_data: key }, signal)
    } catch (error) {
      if (error instanceof SendFailed && error.failure === 'no_window' && template !== null) {
        const { name, language } = template
        await post(
          { ...part.target, type: 'template', template: { name, language: { code: language } } },
          signal,
        )
      }
      throw error
    }
  }

  /** A status with its key updates the row itself; if none has arrived in time, the message was not sent. */
  async function find(_part: OutgoingPart, key: string): Promise<null> {
    const since = awaited.get(key) ?? now()
    awaited.set(key, since)
    const left = since + STATUS_MS - now()
    if (left <= 0) return null
    throw new SendFailed('unknown', 'no delivery status of the message yet', { afterMs: left })
  }

  /** Marks the message as read and shows the typing indicator, for 25 seconds or until the answer. */
  async function acknowledge({ event_key, status, ignore }: Inbound, signal: AbortSignal): Promise<void> {
    if (status !== undefined || ignore !== undefined) return
    const message_id = event_key.slice('w:'.length)
    await post({ status: 'read', message_id, typing_indicator: { type: 'text' } }, signal)
  }
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function readJson(raw: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(raw))
  } catch {
    // A signed notification of an unknown type.
    return null
  }
}

/** Parses WhatsApp's inbound events: people's messages, and the status of ours. Pure. */
import { createHash } from 'node:crypto'
import type { ChannelSource } from '@cairn/protocol'
import type { FileRef, Inbound } from '../adapter.ts'
import { WINDOW_CLOSED } from './failures.ts'
import { type Message, type Status, type Value, valuesOf } from './payloads.ts'

/** Meta retries for seven days; an older body is a replay. */
const STALE_MS = 8 * 24 * 60 * 60_000

/** Ignores events of other phone numbers of the same account. */
export function parsePayload(payload: unknown, phoneNumberId: string, now: number): Inbound[] {
  const isStale = ({ source }: Inbound): boolean => Number(source.ts.split('.')[0]) * 1000 < now - STALE_MS
  return valuesOf(payload)
    .filter(({ metadata }) => metadata.phone_number_id === phoneNumberId)
    .flatMap(value => [
      ...value.messages.flatMap(message => parseMessage(message, value)),
      ...value.statuses.flatMap(parseStatus),
    ])
    .map(inbound => (isStale(inbound) ? { ...inbound, ignore: 'stale' } : inbound))
}

/** The target of a message: a phone number, or the id of a person who hides theirs. */
export const targetOf = (person: string): { to: string } | { recipient: string } =>
  /^\+?[\d\s-]+$/.test(person) ? { to: person } : { recipient: person }

function parseMessage(message: Message, { contacts }: Value): Inbound[] {
  const { id, timestamp, text, interactive } = message
  const from = message.from || message.from_user_id
  if (from === undefined) return []
  const name = contacts.find(({ wa_id, user_id }) => [wa_id, user_id].includes(from))?.profile?.name ?? null
  const press = interactive?.button_reply?.id ?? interactive?.list_reply?.id
  const file = fileOf(message)
  const said = text?.body ?? mediaOf(message)?.caption ?? ''
  const inbound: Inbound = {
    event_key: `w:${id}`,
    conversation_key: from,
    target: targetOf(from),
    source: sourceOf(from, name, timestamp, id),
    text: said,
    ...(file === null ? {} : { files: [file] }),
    ...(press === undefined ? {} : { press }),
    // A sticker, a location, a reaction: nothing that an agent could read.
    ...(said === '' && press === undefined && file === null ? { ignore: `no text: ${message.type}` } : {}),
  }
  return [inbound]
}

/** Only statuses that update a row: sent, or failed after it was accepted. */
function parseStatus({
  id,
  status,
  timestamp,
  recipient_id,
  recipient_user_id,
  biz_opaque_callback_data,
  errors,
}: Status): Inbound[] {
  const recipient = recipient_id || (recipient_user_id ?? '')
  if (biz_opaque_callback_data === undefined || status === 'read') return []
  const code = errors?.[0]?.code
  const outcome = status !== 'failed' ? 'taken' : code === WINDOW_CLOSED ? 'no_window' : 'failed'
  return [
    {
      event_key: `s:${id}:${status}`,
      conversation_key: recipient,
      target: targetOf(recipient),
      source: sourceOf(recipient, null, timestamp, `${id}:${status}`),
      text: '',
      status: {
        key: biz_opaque_callback_data,
        outcome,
        message_id: id,
        error:
          code === undefined
            ? `WhatsApp reported ${status}`
            : `WhatsApp reported ${code} ${errors?.[0]?.title ?? ''}`.trim(),
      },
    },
  ]
}

const sourceOf = (user: string, name: string | null, seconds: string, id: string): ChannelSource => ({
  platform: 'whatsapp',
  chat_id: user,
  chat_type: 'dm',
  user_id: user,
  user_name: name,
  thread_id: null,
  ts: `${seconds}.${createHash('sha256').update(id).digest('hex').slice(0, 8)}`,
})

const mediaOf = ({ image, document, audio, video }: Message) => image ?? document ?? audio ?? video

function fileOf(message: Message): FileRef | null {
  const media = mediaOf(message)
  if (media === undefined) return null
  const ending = media.mime_type?.split(/[/;]/)[1] ?? 'bin'
  return {
    name: media.filename ?? `${message.type}.${ending}`,
    ...(media.mime_type === undefined ? {} : { mime_type: media.mime_type.split(';')[0] ?? '' }),
    ref: { media: media.id },
  }
}

/** Parses WhatsApp's inbound events: people's messages, and the status of ours. Pure. */
import { createHash } from 'node:crypto'
import type { ChannelSource } from '@cairn/protocol'
import type { FileRef, Inbound } from '../adapter.ts'
import { lines } from '../described.ts'
import { firstIssue, unreadableEvent } from '../unreadable.ts'
import { answeredId, isForwarded, keyOf, mediaOf, originText, pressOf, shownText } from './content.ts'
import { WINDOW_CLOSED } from './failures.ts'
import {
  type Malformed,
  type Message,
  type MessageHead,
  type Status,
  type Value,
  valuesOf,
} from './payloads.ts'

/** Meta retries for seven days; an older body is a replay. */
const STALE_MS = 8 * 24 * 60 * 60_000
/** Reports of WhatsApp, which no person wrote: a changed number, a chat that was opened. */
const REPORTS: readonly string[] = ['system', 'request_welcome']

/** Ignores events of other phone numbers of the same account. */
export function parsePayload(payload: unknown, phoneNumberId: string, now: number): Inbound[] {
  const isStale = ({ source }: Inbound): boolean => Number(source.ts.split('.')[0]) * 1000 < now - STALE_MS
  return valuesOf(payload).flatMap(value => {
    if ('error' in value) return parseMalformed(value)
    if (value.phoneNumberId !== phoneNumberId) return []
    return [
      ...value.messages.flatMap(message => parseMessage(message, value)),
      ...value.statuses.flatMap(parseStatus),
      ...value.malformed.flatMap(parseMalformed),
    ].map(inbound => (isStale(inbound) ? { ...inbound, ignore: 'stale' } : inbound))
  })
}

/** The target of a message: a phone number, or the id of a person who hides theirs. */
export const targetOf = (person: string): { to: string } | { recipient: string } =>
  /^\+?[\d\s-]+$/.test(person) ? { to: person } : { recipient: person }

const personOf = ({ from, from_user_id }: MessageHead): string | undefined => from || from_user_id

/** Its sender gets a reply, if the message names one. */
function parseMalformed({ element, error, head }: Malformed): Inbound[] {
  const from = head === null ? undefined : personOf(head)
  if (head === null || from === undefined) return [unreadableEvent('whatsapp', element, firstIssue(error))]
  return [{ ...headOf(head, from, null), text: '', unsupported: head.type }]
}

const headOf = ({ id, timestamp }: MessageHead, from: string, name: string | null) => ({
  event_key: keyOf(id),
  conversation_key: from,
  target: targetOf(from),
  source: sourceOf(from, name, timestamp, id),
})

function parseMessage(message: Message, { contacts }: Value): Inbound[] {
  const from = personOf(message)
  if (from === undefined) return [unreadableEvent('whatsapp', message, 'from: missing')]
  const name = contacts.find(({ wa_id, user_id }) => [wa_id, user_id].includes(from))?.profile?.name ?? null
  const press = pressOf(message)
  const file = fileOf(message)
  const shown = press === undefined ? shownText(message) : ''
  const origin = originText(message)
  const isEmpty = shown === '' && origin === '' && press === undefined && file === null
  const inbound: Inbound = {
    ...headOf(message, from, name),
    text: lines([origin, isForwarded(message) ? '' : shown]),
    ...(isForwarded(message) ? { forwards: [{ author: null, text: shown || '[no text]' }] } : {}),
    ...(file === null ? {} : { files: [file] }),
    ...(press === undefined ? answeredId(message) : { press }),
    ...(isEmpty ? { unsupported: message.type } : {}),
    ...whyIgnored(message),
  }
  return [inbound]
}

function whyIgnored({ type, reaction }: Message): Pick<Inbound, 'ignore'> {
  if (REPORTS.includes(type)) return { ignore: 'system message' }
  // Without an emoji it takes an earlier reaction back.
  return reaction !== undefined && !reaction.emoji ? { ignore: 'reaction removed' } : {}
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
